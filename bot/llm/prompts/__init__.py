"""Prompts: one Markdown file each, with a version and named gaps."""
