"""Built-in signatures that a rule page may name in `resolved_by`."""

RESOLVERS = ("@start", "@ready", "@meta-leader", "@meta-self", "@stream-leader", "@consumer-leader")
"""A start, readiness, a new meta leader (as others or the leader itself say), leaders of streams and consumers."""
