"""Bundles as bytes: ours, and the archives of `nats audit gather`. Pure: files are read in `sources.bundle`."""
