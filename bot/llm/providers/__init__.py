"""Model providers: HTTP servers, command-line agents, and some without a model."""
