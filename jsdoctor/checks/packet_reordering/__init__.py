"""Checks of what the network and slow readers do to connections, and of what NATS makes of it."""
