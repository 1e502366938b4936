"""Log lines from the HTTP API of Loki: paged by time, within limits, into files for the scanner."""
