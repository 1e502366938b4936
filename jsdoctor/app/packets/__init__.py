"""Packet captures: options and reading."""
