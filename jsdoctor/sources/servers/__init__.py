"""Requests to running servers: the system account, a plain account, HTTP monitoring. Only reads."""
