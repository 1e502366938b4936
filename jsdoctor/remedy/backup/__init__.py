"""Backups of streams in the format of `nats stream backup`: taking, verifying and restoring them."""
