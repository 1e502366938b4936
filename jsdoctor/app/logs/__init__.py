"""Logs beside a deployment or alone: options, engines, reading."""
