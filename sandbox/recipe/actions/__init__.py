"""Parse GitHub Actions workflows as data, from a workflow file to one resolved job."""
