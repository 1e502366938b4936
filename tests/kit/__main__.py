"""Writes the kit: python -m tests.kit (or: make kit)."""

from tests.kit.files import write

write()
