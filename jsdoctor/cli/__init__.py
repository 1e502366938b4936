"""The command line: thin commands over the layers below. Only here is printed, exited and the environment read."""
