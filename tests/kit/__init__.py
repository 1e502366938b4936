"""Generates deploy/prometheus and deploy/grafana from the rule pages: `make kit`."""
