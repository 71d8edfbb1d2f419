"""The ways to run a candidate: swap live code objects, import in a fresh fork, or a new process."""
