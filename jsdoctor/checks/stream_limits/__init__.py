"""Streams: limits, retention and what happens when they are reached."""
