"""What a test or an import died of, told by the process that saw it, in plain data."""

from __future__ import annotations

from sandbox.guest.search.session.failures.failure import Failure, failure_of

__all__ = ["Failure", "failure_of"]
