"""All input: live clusters, monitoring endpoints, contexts and rule pages on disk. Nothing here writes to a cluster."""
