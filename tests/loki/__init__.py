"""Tests of evidence from Loki: a real one where it is built, and a server that follows the API as documented."""
