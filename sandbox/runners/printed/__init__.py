"""Failing tests in the output of test runners: a weak reading, never a verdict."""

from collections.abc import Sequence
from itertools import islice

from sandbox.runners.findings import CheckoutPaths
from sandbox.runners.printed.blocks import FULL_RESULTS, MAX_RESULTS
from sandbox.runners.printed.node_text import mocha_failures, spec_failures, tap_failures
from sandbox.runners.printed.other_text import (
    cargo_failures,
    go_failures,
    jest_failures,
    surefire_failures,
)
from sandbox.runners.printed.pytest_text import pytest_failures
from sandbox.runners.printed.unittest_text import unittest_failures
from sandbox.types import TestResult

__all__ = ["READERS", "read_test_lines"]

READERS = (
    pytest_failures,
    unittest_failures,
    go_failures,
    cargo_failures,
    jest_failures,
    mocha_failures,
    spec_failures,
    tap_failures,
    surefire_failures,
)
"""In this order. All of them read the text, because a script may run several."""


def read_test_lines(lines: Sequence[str], checkout: CheckoutPaths) -> tuple[TestResult, ...]:
    """Return the failing tests in lines without colours."""
    found: dict[str, TestResult] = {}
    for reader in READERS:
        for result in islice(reader(lines, checkout), MAX_RESULTS):
            found.setdefault(result.name, result)
    results = list(found.values())[:MAX_RESULTS]
    brief = (result.with_(traceback=None, output="") for result in results[FULL_RESULTS:])
    return (*results[:FULL_RESULTS], *brief)
