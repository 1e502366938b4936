"""Tests of what is read of NATS in captures."""
