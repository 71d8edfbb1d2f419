"""Readers of tools, one file for each: what a command line installs and runs."""
