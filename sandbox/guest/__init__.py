"""Code that is copied into the sandbox and runs there.

Standard library only, Python 3.8 or newer.
"""
