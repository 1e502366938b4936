"""Platforms other than Linux: the names that Python has there, and wheels of the dependencies."""
