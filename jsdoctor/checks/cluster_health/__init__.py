"""The cluster: leaders, replicas, the meta group."""
