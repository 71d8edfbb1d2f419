"""Trials: run chunks of candidates in forked children and read the verdicts."""
