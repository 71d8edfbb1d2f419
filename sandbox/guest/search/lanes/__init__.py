"""The ways a candidate is run: swapped into live functions, imported afresh, or in a process of its own with files."""
