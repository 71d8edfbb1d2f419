"""Step 2: queue missions durably, within concurrency and rate limits."""
