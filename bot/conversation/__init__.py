"""Beside the line: what people ask by comment, button and label, and what we answer."""
