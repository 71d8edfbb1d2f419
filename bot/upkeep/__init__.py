"""Beside the line: the life of a fix after it was offered, and events that GitHub lost."""
