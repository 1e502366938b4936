"""Asking a running deployment: the system account, a plain account, HTTP monitoring. Only reads."""
