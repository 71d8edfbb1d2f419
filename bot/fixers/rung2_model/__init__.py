"""Rung 2: a language model, several samples, structured edits."""
