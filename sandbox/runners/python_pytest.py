"""Run pytest with our own reporter and read its signed records. The printed text is no evidence."""

import json
import secrets
from collections.abc import Sequence

from sandbox.guest.pytest_command import PytestCommand, split_pytest_command
from sandbox.runners.base import GuestPlaces, Invocation, RunnerReading, RunRequest, with_defaults
from sandbox.runners.records import RecordsForged, read_records
from sandbox.runners.session import SessionReader
from sandbox.types import CommandResult

USAGE_ERROR = 4
_KEY_BYTES = 16
_ADJECTIVES = (
    "plain",
    "simple",
    "small",
    "other",
    "basic",
    "inner",
    "outer",
    "empty",
    "single",
    "shared",
    "local",
)
_NOUNS = (
    "value",
    "result",
    "input",
    "order",
    "range",
    "limit",
    "index",
    "state",
    "match",
    "parse",
    "lookup",
    "round",
)


class PythonPytest:
    """Recognises pytest commands: `pytest`, `python -m pytest`, `coverage run -m pytest`, ..."""

    @property
    def name(self) -> str:
        """Return `pytest`."""
        return "pytest"

    def recognises(self, command: str) -> bool:
        """Return True if this runner reads the command."""
        return split_pytest_command(command) is not None

    def prepare(self, request: RunRequest, places: GuestPlaces) -> Invocation:
        """Return what to start."""
        command = split_pytest_command(request.command)
        if command is None:
            raise ValueError("not a pytest command")
        targets = [f"{places.checkout}/{target}" for target in request.targets]
        return start_session("pytest_entry.py", command, request, places, targets=targets)

    def read(
        self, request: RunRequest, invocation: Invocation, result: CommandResult
    ) -> RunnerReading:
        """Read the result of a run."""
        return read_session(result, request, invocation, tool="pytest", usage_error=USAGE_ERROR)


def start_session(
    entry: str,
    command: PytestCommand,
    request: RunRequest,
    places: GuestPlaces,
    *,
    targets: Sequence[str],
) -> Invocation:
    """Return the start of a program of ours that runs the tests and records their results.

    Args:
        entry: Its file in the guest folder: `pytest_entry.py` or `unittest_entry.py`.
        command: The parsed command line.
        request: What to run.
        places: Paths inside the sandbox.
        targets: The tests to run, in the form that the program expects; all if empty.
    """
    environment = with_defaults(request, command.environment)
    # PYTHONPATH is applied after the test framework is imported, so that the checkout cannot
    # shadow it.
    python_path = environment.pop("PYTHONPATH", "")
    # The guest reads the key from standard input and closes it before any test runs.
    key = secrets.token_bytes(_KEY_BYTES)
    config = {
        "key": key.hex(),
        "args": list(command.args),
        "targets": list(targets),
        "order": request.order,
        "seed": request.seed,
        "maxfail": request.maxfail,
        "adds_cwd": command.adds_cwd,
        "python_path": python_path,
        "root": places.checkout,
        "canaries": [_canary_name(), _canary_name()],
        "wall_s": request.wall_s,
        "test_cpu_s": request.test_cpu_s,
    }
    program = f"{places.guest_dir}/{entry}"
    return Invocation(
        argv=(places.python, "-s", "-B", *command.interpreter_options, program),
        environment=environment,
        stdin=json.dumps(config).encode(),
        key=key,
    )


def read_session(
    result: CommandResult,
    request: RunRequest,
    invocation: Invocation,
    *,
    tool: str,
    usage_error: int,
) -> RunnerReading:
    """Read the signed records of such a program.

    Args:
        result: The result of the run.
        request: What was run.
        invocation: How it was started.
        tool: Name of the test framework.
        usage_error: Its exit status for wrong use.
    """
    try:
        records = list(read_records(result.results, invocation.key))
    except RecordsForged as error:
        return RunnerReading(ended=False, tampering=(str(error),))
    return SessionReader(result, request, tool=tool, usage_error=usage_error).read(records)


def _canary_name() -> str:
    """Return a plausible test name, new for every run."""
    return (
        f"test_{secrets.choice(_ADJECTIVES)}_{secrets.choice(_NOUNS)}_{secrets.randbelow(90) + 10}"
    )
