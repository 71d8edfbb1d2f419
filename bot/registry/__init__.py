"""The registry of active missions and offered fixes, which survives restarts."""
