"""Frozen values shared by every layer: findings, rules, evidence, snapshots, reports. No I/O, no clock."""
