"""Step 5: learn lessons from missions and their outcomes."""
