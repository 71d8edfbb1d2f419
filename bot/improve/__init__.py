"""Self-improvement: one verified change of one file in each cycle, promoted atomically."""
