"""Logs as people paste and export them: made into plain lines, oldest first, before they are scanned."""
