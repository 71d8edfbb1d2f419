"""Real git, real Docker, real HTTP on loopback."""
