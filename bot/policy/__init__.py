"""Repository policies, read from the default branch with the line of every key."""
