"""Reads log files, archives and object stores, and runs the scan over them."""
