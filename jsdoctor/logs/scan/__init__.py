"""One part of a log, block by block: what each signature and each process contributes, as rows."""
