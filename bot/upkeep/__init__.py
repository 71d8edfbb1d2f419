"""Follow up on offered fixes, and find what was missed."""
