"""Code that is copied into the sandbox and runs there: standard library only, Python 3.8 and up."""
