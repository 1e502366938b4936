"""The command line: thin commands over the layers below. The only package that exits, prints and reads the environment."""
