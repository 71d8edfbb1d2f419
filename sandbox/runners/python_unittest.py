"""Run unittest with our own result class and read its signed records.

The printed text is no evidence.
"""

import json
import secrets

from sandbox.guest.pytest_command import split_unittest_command
from sandbox.runners.base import GuestPlaces, Invocation, RunnerReading, RunRequest, with_defaults
from sandbox.runners.python_pytest import session_config
from sandbox.runners.records import RecordsForged, read_records
from sandbox.runners.session import SessionReader
from sandbox.types import CommandResult

USAGE_ERROR = 2
_KEY_BYTES = 16


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
        environment = with_defaults(request, command.environment)
        # PYTHONPATH is applied after unittest is imported, so that the checkout cannot shadow
        # unittest.
        python_path = environment.pop("PYTHONPATH", "")
        key = secrets.token_bytes(_KEY_BYTES)
        config = session_config(command, request, places, key=key, python_path=python_path)
        return Invocation(
            argv=(
                places.python,
                "-s",
                "-B",
                *command.interpreter_options,
                f"{places.guest_dir}/unittest_entry.py",
            ),
            environment=environment,
            stdin=json.dumps({**config, "targets": list(request.targets)}).encode(),
            key=key,
        )

    def read(
        self, request: RunRequest, invocation: Invocation, result: CommandResult
    ) -> RunnerReading:
        """Read the result of a run."""
        try:
            records = list(read_records(result.results, invocation.key))
        except RecordsForged as error:
            return RunnerReading(ended=False, tampering=(str(error),))
        return SessionReader(result, request, tool="unittest", usage_error=USAGE_ERROR).read(
            records
        )
