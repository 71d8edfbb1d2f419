"""Beside the line: what is under way where, kept over restarts."""
