"""The predicates: one package per failure mode, one module per check. Evidence in, findings out, nothing else."""
