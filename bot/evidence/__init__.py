"""Evidence that can be run again: bundles written, kept, read with suspicion, and replayed."""
