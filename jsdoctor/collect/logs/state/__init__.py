"""What an audit keeps for the next one (`--state`): the scanned rows of what it has read, by file and range."""
