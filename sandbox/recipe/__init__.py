"""From a failing job to what must be installed and the one command that failed."""
