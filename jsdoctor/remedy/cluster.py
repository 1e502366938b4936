"""Remedy actions on the cluster: leaders, peers, the meta group."""
