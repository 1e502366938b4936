"""Manifests on disk and on standard input: which files there are, and what they say."""
