"""Clocks: what servers' clocks do to stored messages and windows."""
