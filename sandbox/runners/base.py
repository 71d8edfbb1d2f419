"""The protocol of test runners, and the values between them and the judge."""

import posixpath
import re
import shlex
from collections.abc import Mapping
from typing import Protocol

from pydantic import Field

from sandbox.types import CommandResult, Frozen, TestOrder, TestResult, TestStatus
from sandbox.types.launchers import FILE_SELECTOR

SHELL = (
    "/bin/sh",
    "-c",
    (
        'if command -v bash >/dev/null 2>&1; then exec bash -e -c "$0"; else exec /bin/sh -e -c '
        '"$0"; fi'
    ),
)
"""As in CI: bash if available, stopping at the first error."""
_NPX = """npx() {
  case "${1-}" in */*) ;; *)
    if [ -f "node_modules/.bin/${1-}" ] && ! grep -qs '"bin"' package.json; then
      _bins= _at=$PWD
      while [ -n "$_at" ]; do _bins=$_bins$_at/node_modules/.bin: _at=${_at%/*}; done
      INIT_CWD=$PWD npm_lifecycle_event=npx PATH=$_bins$PATH "$PWD/node_modules/.bin/$@"
      return
    fi
  esac
  command npx "$@"
}
"""
"""Starts an installed program as npx would, without 0.3 s of processor time for npm itself.

A project with programs of its own is left to npx, which prefers these.
"""
_STARTS_NPX = re.compile(r"(?<![\w./-])npx\s")
NOT_EXECUTABLE = 126
NOT_FOUND = 127
HASH_SEEDS = 2**32
"""Upper bound of PYTHONHASHSEED."""


class RunRequest(Frozen):
    """A request to run something, independent of the runner."""

    command: str
    targets: tuple[str, ...] = ()
    """Test names that replace the command's own selection."""
    order: TestOrder = "given"
    seed: int = 0
    """The seed of a random order and of Python's hashing."""
    maxfail: int | None = None
    """Number of failures after which to stop, 0 for no limit; None keeps the command's own limit.
    """
    environment: dict[str, str] = Field(default_factory=dict)
    wall_s: float = 120.0
    test_cpu_s: float = 0.0
    """Processor seconds after which one test is stopped; 0 means no limit."""


class GuestPlaces(Frozen):
    """Paths inside the sandbox."""

    python: str
    guest_dir: str
    checkout: str
    """Absolute path of the checkout."""
    cwd: str
    """Absolute path of the working directory in it."""

    @property
    def folder(self) -> str:
        """Return the working directory relative to the checkout."""
        return posixpath.relpath(self.cwd, self.checkout)


class Invocation(Frozen):
    """One command, ready for a Guest."""

    argv: tuple[str, ...]
    environment: dict[str, str] = Field(default_factory=dict)
    stdin: bytes = b""
    key: bytes = b""
    """The key that verifies the records of this run only."""
    control: str = ""
    """Name of the control test, if its result is a record like any other."""
    python_path: str = ""
    checkout: str = ""
    """Absolute path of the checkout, if the reader needs it."""
    folder: str = "."
    """The working directory, relative to the checkout."""
    reports: tuple[str, ...] = ()
    """Paths or patterns of report files that the command writes, relative to the checkout."""
    found: dict[str, bytes] = Field(default_factory=dict)
    """The reports that this run wrote, added by the judge; untrusted bytes."""


class RunnerReading(Frozen):
    """A runner's facts about one run. Only the judge derives a verdict."""

    results: tuple[TestResult, ...] = ()
    """Every test with its outcome, and details of failures."""
    collected: tuple[str, ...] = ()
    deselected: int = 0
    skipped_files: dict[str, str] = Field(default_factory=dict)
    """Test files that skip themselves as they are collected, with the reason."""
    session_status: int | None = None
    """The exit status in the records; None if there are no records or the session did not end."""
    ended: bool = True
    """False if something that started did not end."""
    tampering: tuple[str, ...] = ()
    """Contradictions without an honest explanation."""
    inconclusive: str = ""
    """Why the run is inconclusive, in one sentence; empty if it is conclusive."""
    weak: bool = False
    """Only the exit status is evidence."""

    @property
    def outcomes(self) -> dict[str, TestStatus]:
        """Return the status by name; of several results with one name the worst counts."""
        rank = {TestStatus.PASS: 0, TestStatus.SKIP: 1, TestStatus.FAIL: 2, TestStatus.ERROR: 3}
        found: dict[str, TestStatus] = {}
        for result in self.results:
            present = found.get(result.name)
            if present is None or rank[result.status] > rank[present]:
                found[result.name] = result.status
        return found


class TestRunner(Protocol):
    """Support for one family of commands: recognises them, prepares them, reads their results."""

    @property
    def name(self) -> str:
        """Return the name: `pytest`, `diagnostics`, `command`."""
        ...

    def recognises(self, command: str, /) -> bool:
        """Return True if this runner can read the command."""
        ...

    def prepare(self, request: RunRequest, places: GuestPlaces, /) -> Invocation:
        """Return what to start in the sandbox."""
        ...

    def read(
        self, request: RunRequest, invocation: Invocation, result: CommandResult, /
    ) -> RunnerReading:
        """Read the result of a run; every byte of it is untrusted. Never raises for any content."""
        ...


def shell_invocation(request: RunRequest, places: GuestPlaces) -> Invocation:
    """Return the unchanged command in a shell that stops at the first error."""
    command = request.command
    if _STARTS_NPX.search(command):
        command = f"{_NPX}{command}"
    if FILE_SELECTOR in command:
        program = shlex.join((places.python, "-I", f"{places.guest_dir}/{FILE_SELECTOR}.py"))
        command = f'{FILE_SELECTOR}() {{ {program} "$@"; }}\n{command}'
    return Invocation(
        argv=(*SHELL, command),
        environment=with_defaults(request),
        checkout=places.checkout,
        folder=places.folder,
    )


def with_defaults(request: RunRequest, more: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the job's variables with defaults that make runs with one seed reproducible.

    The job's own PYTHONHASHSEED takes precedence: CI ran with that order of sets.
    """
    environment = {**request.environment, **(more or {})}
    seed = str(request.seed % HASH_SEEDS)
    return {"PYTHONHASHSEED": seed, "PYTHONDONTWRITEBYTECODE": "1", **environment}
