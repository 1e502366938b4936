"""What `jsdoctor diagnose` does, without its command line."""
