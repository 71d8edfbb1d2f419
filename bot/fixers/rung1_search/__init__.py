"""Rung 1: search-based repair of Python, with no model and no network."""
