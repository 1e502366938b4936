"""`--loki`: evidence from the log lines that Loki keeps."""
