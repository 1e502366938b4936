"""Real Prometheus with real exporters on real servers, and recordings of its replies."""
