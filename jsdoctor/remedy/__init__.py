"""Remedies: a closed set of actions, each turned into the commands that a person can type."""
