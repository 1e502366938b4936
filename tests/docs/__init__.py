"""Tests that the written pages are true."""
