"""What can propose a change, from cheap to dear."""
