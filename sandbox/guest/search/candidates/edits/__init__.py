"""Edits shared by the guided templates: of calls, imports and containers."""
