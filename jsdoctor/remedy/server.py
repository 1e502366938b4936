"""Remedy actions on single servers: mostly steps that a person takes on a host."""
