"""The host that jsdoctor runs on, as its kernel shows it."""
