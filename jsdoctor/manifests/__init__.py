"""Manifests: from text to what it declares, each value with its line and column. Pure."""
