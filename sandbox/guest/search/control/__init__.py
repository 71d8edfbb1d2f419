"""The search loop: queue candidates, schedule trials, combine and report survivors."""
