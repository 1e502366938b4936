"""The documentation site: its sources, and the site as its generator builds it."""
