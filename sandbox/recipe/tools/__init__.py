"""The readers of tools: what a command line of a step installs and runs, one file per tool."""
