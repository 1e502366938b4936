"""Tests of reading logs with Spark: embedded, on a real standalone cluster, through a real Connect server."""
