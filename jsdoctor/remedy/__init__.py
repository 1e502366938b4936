"""Remedies: a closed set of actions, the commands that a person can type, and the steps that jsdoctor takes itself."""
