"""What only a diagnosis asks for: one stored message, and the dry run of a publish."""
