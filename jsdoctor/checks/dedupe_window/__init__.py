"""Deduplication: when it is off, too short, or costs too much."""
