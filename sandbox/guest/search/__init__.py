"""Search-based repair inside the sandbox: create candidates and test them in warm processes."""
