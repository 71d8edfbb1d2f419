"""The judgements of the mission loop, each as rules and, beside them, as a model makes it."""
