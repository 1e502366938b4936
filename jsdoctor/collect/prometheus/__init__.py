"""Queries to the HTTP API of Prometheus and of what speaks like it (Thanos, Mimir, VictoriaMetrics)."""
