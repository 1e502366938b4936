"""Families of remedies: each declares its actions and operations in one module or package (`FAMILY`)."""
