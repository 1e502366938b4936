"""Loki: its replies, the query that they belong to, and the servers that labels name."""
