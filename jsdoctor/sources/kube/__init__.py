"""Kubernetes, through `kubectl proxy`: its objects, the monitoring ports of pods, and their logs."""
