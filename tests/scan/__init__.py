"""Tests of reading stored messages."""
