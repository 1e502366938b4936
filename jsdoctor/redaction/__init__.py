"""Removes secrets from all that leaves the process. Pure."""
