"""The prose of the project against its word list: python -m tools.prose (part of make check)."""
