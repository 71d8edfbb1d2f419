"""The test runners, in the order they are asked; the first that recognises a command reads it."""

from sandbox.runners.any_command import AnyCommand
from sandbox.runners.base import TestRunner
from sandbox.runners.diagnostics import Diagnostics
from sandbox.runners.junit import JUnitReports
from sandbox.runners.python_pytest import PythonPytest
from sandbox.runners.python_unittest import PythonUnittest

RUNNERS: tuple[TestRunner, ...] = (PythonPytest(), PythonUnittest(), Diagnostics(), JUnitReports(), AnyCommand())
"""Explicit and ordered; AnyCommand takes everything."""


def detect_runner(command: str) -> TestRunner:
    """The runner that reads a command."""
    return next(runner for runner in RUNNERS if runner.recognises(command))


__all__ = ["RUNNERS", "TestRunner", "detect_runner"]
