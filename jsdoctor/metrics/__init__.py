"""Metrics of exporters (prometheus-nats-exporter, nats-surveyor) as the replies that they were made from."""
