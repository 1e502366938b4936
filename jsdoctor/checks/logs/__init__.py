"""Shared parts of checks of log evidence: outage intervals, bursts, restarts that explain them, and their wording."""
