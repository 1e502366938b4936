"""A watch: checks again and again, what changed between them, and notifications."""
