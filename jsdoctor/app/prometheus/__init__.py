"""`--prometheus`: evidence from the metrics that Prometheus keeps."""
