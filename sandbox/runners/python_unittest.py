"""Run unittest with our own result class and read its signed records.

The printed text is no evidence.
"""

from sandbox.guest.pytest_command import split_unittest_command
from sandbox.runners.base import GuestPlaces, Invocation, RunnerReading, RunRequest
from sandbox.runners.python_pytest import read_session, start_session
from sandbox.types import CommandResult

USAGE_ERROR = 2


class PythonUnittest:
    """Recognises `python -m unittest`, also after `coverage run`, `uv run` and the like."""

    @property
    def name(self) -> str:
        """Return `unittest`."""
        return "unittest"

    def recognises(self, command: str) -> bool:
        """Return True if this runner reads the command."""
        return split_unittest_command(command) is not None

    def prepare(self, request: RunRequest, places: GuestPlaces) -> Invocation:
        """Return what to start."""
        command = split_unittest_command(request.command)
        if command is None:
            raise ValueError("not a unittest command")
        targets = request.targets
        return start_session("unittest_entry.py", command, request, places, targets=targets)

    def read(
        self, request: RunRequest, invocation: Invocation, result: CommandResult
    ) -> RunnerReading:
        """Read the result of a run."""
        return read_session(result, request, invocation, tool="unittest", usage_error=USAGE_ERROR)
