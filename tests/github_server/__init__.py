"""A local GitHub for tests and the demo: REST, git over HTTP, webhooks and a small CI on real bare repositories."""
