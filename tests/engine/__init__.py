"""Tests of the rule engine."""
