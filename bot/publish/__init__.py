"""Step 4. Tell people, in the place where they already look."""
