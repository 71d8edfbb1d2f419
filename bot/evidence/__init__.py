"""Reproducible evidence: writing, storing, reading and replaying bundles."""
