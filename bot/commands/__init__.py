"""The commands: options, run and exit status of each. Only light imports outside of functions."""
