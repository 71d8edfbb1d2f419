"""What a repository allows us: read from its default branch, line by line."""
