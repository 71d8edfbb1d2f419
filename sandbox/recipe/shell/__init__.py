"""A step's shell script, read as a shell would take it, and never run."""
