"""The test runners in order of precedence: the first that recognises a command reads it."""

from sandbox.runners.any_command import AnyCommand
from sandbox.runners.base import TestRunner
from sandbox.runners.diagnostics import Diagnostics
from sandbox.runners.go import GoTest
from sandbox.runners.javascript import JAVASCRIPT_RUNNERS
from sandbox.runners.junit import JUnitReports
from sandbox.runners.python_pytest import PythonPytest
from sandbox.runners.python_unittest import PythonUnittest
from sandbox.types import RunnerTraits, find_traits

RUNNERS: tuple[TestRunner, ...] = (
    PythonPytest(),
    PythonUnittest(),
    *JAVASCRIPT_RUNNERS,
    GoTest(),
    Diagnostics(),
    JUnitReports(),
    AnyCommand(),
)
"""Explicit and ordered; AnyCommand recognises everything."""


def detect_runner(command: str) -> TestRunner:
    """Return the runner that reads a command."""
    return next(runner for runner in RUNNERS if runner.recognises(command))


def detect_traits(command: str) -> RunnerTraits:
    """Return the properties of the runner that reads a command."""
    return find_traits(detect_runner(command).name)


__all__ = ["RUNNERS", "TestRunner", "detect_runner", "detect_traits"]
