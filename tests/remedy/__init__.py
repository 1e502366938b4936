"""Tests of plans, of applying them, and of backups, on real servers."""
