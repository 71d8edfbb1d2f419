"""Beside the line: what becomes of what we offered, and what was missed."""
