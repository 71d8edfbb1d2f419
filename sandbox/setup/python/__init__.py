"""The set-up of Python: the requested interpreter, the requirements, the project's metadata."""
