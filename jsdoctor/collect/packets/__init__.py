"""Packets from files and interfaces. What they mean is worked out in `jsdoctor.parse.packets`."""
