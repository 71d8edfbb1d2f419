"""Run JavaScript tests with our own reporters and read their signed records."""

from sandbox.runners.javascript.runner import JAVASCRIPT_RUNNERS

__all__ = ["JAVASCRIPT_RUNNERS"]
