"""The model form of every judging stage: asks, reads, and holds the answer to what the rules leave no choice about."""
