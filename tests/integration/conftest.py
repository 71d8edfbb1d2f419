"""Fixtures of the integration tests."""

from tests.github_server.fixtures import app_key, local_github, receiver, rest

__all__ = ["app_key", "local_github", "receiver", "rest"]
