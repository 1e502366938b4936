"""Tests on real servers: faults are planted, `jsdoctor check` is run as a user runs it, its report is judged."""
