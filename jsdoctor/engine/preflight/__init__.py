"""Whether servers can be taken down now, from the evidence alone."""
