"""Requests that only a diagnosis sends: one stored message, and the dry run of a publish."""
