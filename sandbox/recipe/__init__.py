"""Plan how to rebuild a failing job: what to install, and the command that failed."""
