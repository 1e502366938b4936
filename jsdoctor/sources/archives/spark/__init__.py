"""Spark for log archives: a session, Java for it, the package on its executors, and the scan as one Spark job."""
