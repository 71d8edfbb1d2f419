"""Fixers that propose changes, ordered by cost."""
