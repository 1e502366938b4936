"""Bundles: evidence in a file, captured here and judged later or elsewhere."""
