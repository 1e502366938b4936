"""Packet captures, pure: bytes in, evidence out. Reading files and interfaces is in `jsdoctor.sources.packets`."""
