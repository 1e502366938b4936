"""Reads clocks: those of the servers, and true time from NTP servers. `jsdoctor.parse` interprets the replies."""
