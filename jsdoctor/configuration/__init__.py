"""The configuration file and values of options: from text to values. Pure."""
