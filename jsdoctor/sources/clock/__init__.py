"""Reads clocks: those of the servers, and true time from NTP servers. `replies.clock` interprets the replies."""
