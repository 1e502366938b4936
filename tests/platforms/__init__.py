"""Platforms other than Linux: simulated for the modules of jsdoctor, and their wheels."""
