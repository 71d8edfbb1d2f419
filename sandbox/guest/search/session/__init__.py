"""The tests as a warm host: collect them, run them one by one, restore the state between runs."""
