"""Packet captures from files and standard input. What they mean is worked out in `jsdoctor.packets`."""
