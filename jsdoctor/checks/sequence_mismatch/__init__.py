"""Sequences that disagree: consumers against their streams."""
