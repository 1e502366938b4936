"""Tests of reading logs with Spark: on this machine, on a real standalone cluster, through a real Connect server."""
