"""Parse and follow a step's shell script without running it."""
