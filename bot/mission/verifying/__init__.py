"""Run the failing command and verify a fix in fresh sandboxes."""
