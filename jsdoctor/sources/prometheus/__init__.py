"""Queries to the HTTP API of Prometheus and of compatible systems (Thanos, Mimir, VictoriaMetrics)."""
