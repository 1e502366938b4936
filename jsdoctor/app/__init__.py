"""What the commands do, with typed options: the public Python API, without a command line or console."""
