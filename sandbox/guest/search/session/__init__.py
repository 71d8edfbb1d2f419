"""The tests in a warm process: collect and run them, and restore the state between runs."""
