"""TestRunner: the protocol every reader of a command fulfils, and the values between it and the judge."""

import posixpath
from collections.abc import Mapping
from typing import Protocol

from pydantic import Field

from sandbox.types import CommandResult, Frozen, TestOrder, TestResult, TestStatus

SHELL = (
    "/bin/sh",
    "-c",
    'if command -v bash >/dev/null 2>&1; then exec bash -e -c "$0"; else exec /bin/sh -e -c "$0"; fi',
)
"""As CI does: bash where there is one, stopping at the first error."""
NOT_EXECUTABLE = 126
NOT_FOUND = 127
HASH_SEEDS = 2**32
"""PYTHONHASHSEED takes no larger number."""


class RunRequest(Frozen):
    """What is to be run, independent of the runner."""

    command: str
    targets: tuple[str, ...] = ()
    """Test names that replace the command's own selection."""
    order: TestOrder = "given"
    seed: int = 0
    """For a random order, and for Python's hashing."""
    maxfail: int | None = None
    """Stop after so many failures, 0 for never; None keeps the command's own limit."""
    environment: dict[str, str] = Field(default_factory=dict)
    wall_s: float = 120.0
    test_cpu_s: float = 0.0
    """Processor time after which one test is stopped; 0 for never."""


class GuestPlaces(Frozen):
    """Where things are inside the sandbox."""

    python: str
    guest_dir: str
    checkout: str
    """Absolute path of the checkout."""
    cwd: str
    """Absolute path of the working directory in it."""

    @property
    def folder(self) -> str:
        """The working directory, relative to the checkout."""
        return posixpath.relpath(self.cwd, self.checkout)


class Invocation(Frozen):
    """One command, ready for a Guest."""

    argv: tuple[str, ...]
    environment: dict[str, str] = Field(default_factory=dict)
    stdin: bytes = b""
    key: bytes = b""
    """Verifies the records; only this run has it."""
    python_path: str = ""
    checkout: str = ""
    """Absolute path of the checkout, where the reader has to know it."""
    folder: str = "."
    """The working directory, relative to the checkout."""
    reports: tuple[str, ...] = ()
    """Report files the command was asked to write, relative to the checkout; may be patterns."""
    found: dict[str, bytes] = Field(default_factory=dict)
    """Those of them that this run wrote, put in by the judge; hostile bytes."""


class Reading(Frozen):
    """What a runner read from one run: facts for the judge, who alone gives verdicts."""

    results: tuple[TestResult, ...] = ()
    """Every test with its outcome; failures in detail."""
    collected: tuple[str, ...] = ()
    deselected: int = 0
    session_status: int | None = None
    """The exit status the records speak of; None when the runner keeps none or the session did not end."""
    ended: bool = True
    """Whether everything that was begun also ended."""
    tampering: tuple[str, ...] = ()
    """Contradictions that have no honest explanation."""
    inconclusive: str = ""
    """Why nothing can be concluded, in one sentence; empty when something can."""
    weak: bool = False
    """Only the exit status speaks."""

    @property
    def outcomes(self) -> dict[str, TestStatus]:
        """Name to status; of several results with one name the worst counts."""
        rank = {TestStatus.PASS: 0, TestStatus.SKIP: 1, TestStatus.FAIL: 2, TestStatus.ERROR: 3}
        found: dict[str, TestStatus] = {}
        for result in self.results:
            present = found.get(result.name)
            if present is None or rank[result.status] > rank[present]:
                found[result.name] = result.status
        return found


class TestRunner(Protocol):
    """Knows one family of commands: recognises them, prepares them, reads what they left."""

    @property
    def name(self) -> str:
        """`pytest`, `diagnostics`, `command`."""
        ...

    def recognises(self, command: str, /) -> bool:
        """Whether this runner can read the command."""
        ...

    def prepare(self, request: RunRequest, places: GuestPlaces, /) -> Invocation:
        """What to start in the sandbox."""
        ...

    def read(self, request: RunRequest, invocation: Invocation, result: CommandResult, /) -> Reading:
        """What the run left, every byte of it hostile. Never raises for anything that stands in it."""
        ...


def shell_invocation(request: RunRequest, places: GuestPlaces) -> Invocation:
    """The command as it stands, through a shell that stops at the first error."""
    return Invocation(
        argv=(*SHELL, request.command),
        environment=with_defaults(request),
        checkout=places.checkout,
        folder=places.folder,
    )


def with_defaults(request: RunRequest, more: Mapping[str, str] | None = None) -> dict[str, str]:
    """The job's environment over what makes two runs with one seed alike.

    A PYTHONHASHSEED of the job's own wins: the job asked for that order of sets, and CI ran with it.
    """
    environment = {**request.environment, **(more or {})}
    seed = str(request.seed % HASH_SEEDS)
    return {"PYTHONHASHSEED": seed, "PYTHONDONTWRITEBYTECODE": "1", **environment}
