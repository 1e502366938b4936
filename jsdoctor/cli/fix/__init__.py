"""`jsdoctor fix` and `jsdoctor rollback`."""
