"""How a connection to NATS is chosen and made: contexts, logins, TLS, and one clear sentence when it fails."""
