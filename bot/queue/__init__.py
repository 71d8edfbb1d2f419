"""Step 2. Wait in line, survive a restart, spend no more than allowed."""
