"""Pages of rules and symptoms: front matter and sections. Pure."""
