"""One log line: its wrapping, its header, its time, and the signatures of its message."""
