"""Evidence that somebody pasted: replies and command output, whole or in part, recognised by their content."""
