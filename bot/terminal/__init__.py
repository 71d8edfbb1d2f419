"""The commands that a person runs in a terminal."""
