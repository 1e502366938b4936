"""Logs to evidence, without input or output: lines, signatures, rows, aggregation."""
