"""A report as one HTML file: no network, no scripts but its own, readable without them."""
