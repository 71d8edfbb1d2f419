"""GitHub Actions read as data: from a workflow file to one resolved job."""
