"""Tests of `jsdoctor diagnose`."""
