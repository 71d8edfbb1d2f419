"""Step 5. Remember."""
