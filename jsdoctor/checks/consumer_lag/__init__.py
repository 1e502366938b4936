"""Consumers: lag, stalls, redelivery and configurations that lead there."""
