"""Failures of tests and imports as plain data, recorded in the process that saw them."""

from __future__ import annotations

from sandbox.guest.search.session.failures.failure import FailureRecord, describe_exception

__all__ = ["FailureRecord", "describe_exception"]
