"""Single servers: health, storage, security."""
