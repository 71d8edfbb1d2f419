"""Step 1: decide whether a GitHub event concerns us, and what it asks for."""
