"""Where evidence comes from: each source reads what the rules of a run need, and one function asks all of them.

All input and output of evidence is here: servers, HTTP APIs, files. What it means is worked out in the pure rooms
(`replies`, `logs`, `packets`, `manifests`, `metrics`, `pasted`, `bundles`). Nothing here writes to a cluster.
"""
