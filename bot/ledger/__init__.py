"""What models cost: set aside before a call, settled after it, never more than a limit allows."""
