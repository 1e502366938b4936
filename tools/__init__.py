"""Tools that write fixtures and pages, each of them run by a target of the Makefile."""
