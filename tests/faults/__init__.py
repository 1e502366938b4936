"""Faults planted on real servers, a table for each failure mode. `planting.py` is their manual."""
