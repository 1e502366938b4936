"""`jsdoctor diagnose`."""
