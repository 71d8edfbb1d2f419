"""Words, counted."""
