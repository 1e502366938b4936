"""Reading clocks: those of the servers, and true time from NTP servers. What the answers mean is parsed elsewhere."""
