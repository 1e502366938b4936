"""Kubernetes on the command line: its options, its pods as a deployment, and their logs as files."""
