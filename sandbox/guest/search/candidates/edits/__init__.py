"""Edits that templates guided by exceptions make: of calls, of imports, of containers."""
