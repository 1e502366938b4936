"""Tests of `jsdoctor mcp`."""
