"""Hostile input of our own: beyond the shared corpus, generated where it runs, bounded by construction."""
