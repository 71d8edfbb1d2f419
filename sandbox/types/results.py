"""Results of commands and tests."""

import re
from enum import StrEnum
from typing import Literal

from pydantic import Field

from sandbox.types.frozen import Frozen
from sandbox.types.runners import RunnerTraits, find_traits

FAILURES_IN_FULL = 10
"""Number of failures that a report carries in full; the others are only counted."""


TestOrder = Literal["given", "reversed", "random"]
"""Order of the tests; `random` shuffles by the given seed."""


_HEAP_FULL = re.compile(r"^FATAL ERROR: .{0,200}JavaScript heap out of memory", re.MULTILINE)


class CommandResult(Frozen):
    """The result of one command in the sandbox."""

    argv: tuple[str, ...]
    exit_code: int | None
    """None if the command was killed."""
    signal: int | None = None
    timed_out: bool = False
    flooded: bool = False
    """Killed because it printed more than the limit."""
    oom_kills: int = 0
    survivors: int = 0
    """Number of processes still alive when the command ended; all were killed."""
    stdout: str = ""
    """Head and tail of standard output; untrusted text, not yet redacted."""
    stderr: str = ""
    results: bytes = b""
    """Data from file descriptor 3, at most the results limit; untrusted bytes."""
    duration_s: float = 0.0

    @property
    def ok(self) -> bool:
        """Return True if the command ended by itself with status 0."""
        return self.exit_code == 0 and not (self.timed_out or self.flooded)

    @property
    def out_of_memory(self) -> bool:
        """Return True if the command failed for lack of memory.

        V8 sizes its heap by the memory of the sandbox, and ends Node.js before the system has to.
        """
        return self.oom_kills > 0 or (self.exit_code != 0 and bool(_HEAP_FULL.search(self.stderr)))


class TestStatus(StrEnum):
    """The outcome of one test."""

    __test__ = False

    PASS = "pass"
    FAIL = "fail"
    ERROR = "error"
    SKIP = "skip"


class TestResult(Frozen):
    """The result of one test, with place and reason of a failure."""

    __test__ = False

    name: str
    """The node id, `tests/test_math.py::test_add`; for a linter `path:line:rule`."""
    status: TestStatus
    output: str = ""
    error_message: str | None = None
    duration_ms: float = 0.0
    file: str | None = None
    """Place of the failure, relative to the checkout: the deepest frame inside the checkout."""
    line: int | None = None
    column: int | None = None
    """The column of a finding, if its tool reports one."""
    test: str | None = None
    """The name of the test function."""
    error: str | None = None
    """The exception's class name, or a linter's rule."""
    traceback: str | None = None
    frames: tuple[tuple[str, int, str], ...] = ()
    """(file, line, function) of the traceback's frames inside the checkout, outermost first."""
    hung: bool = False
    """The test did not end and the runner stopped it.

    `error` is then `Timeout`, which is also an exception's name.
    """


def stands_for(name: str, test: str) -> bool:
    """Return True if a name selects a test: the same test, or its file, class or folder.

    Args:
        name: A node id, a file, or a folder; `.` is the checkout.
        test: A node id or a path.
    """
    return name in {test, "."} or test.startswith((f"{name}[", f"{name}::", f"{name}/"))


class RunVerdict(StrEnum):
    """The conclusion from one run of a command."""

    PASS = "pass"
    FAIL = "fail"
    TIMEOUT = "timeout"
    OOM = "oom"
    OUTPUT_LIMIT = "output_limit"
    NO_VERDICT = "no_verdict"
    """Inconclusive: no test collected, the command does not exist, or the runner broke."""
    TAMPERED = "tampered"
    """The records contradict each other: code in the sandbox tried to influence its own verdict."""


class TestReport(Frozen):
    """One run of a test, lint or build command, parsed into structured failures."""

    __test__ = False

    success: bool
    """The command ended by itself with a green status, and the records agree."""
    failed: bool
    """At least one test failed or errored. It is False for a command that could not run."""
    exit_code: int | None
    target: str
    """The command as a person would type it."""
    summary: str
    """One line: `2 failed, 2 passed in 0.1 s`."""
    failure_count: int
    failures: tuple[TestResult, ...] = ()
    """At most FAILURES_IN_FULL failures."""
    raw_output: str = ""
    """Bounded head and tail of the output; untrusted text."""
    verdict: RunVerdict = RunVerdict.NO_VERDICT
    runner: str = "command"
    """The reader of the output: `pytest`, `vitest`, `junit`, `diagnostics`, `command`, ..."""
    outcomes: dict[str, TestStatus] = Field(default_factory=dict)
    """Every test that ran, by name."""
    skipped_files: dict[str, str] = Field(default_factory=dict)
    """Some test files that skip themselves as they are collected, with the reason; untrusted text.
    """
    unconfirmed: tuple[str, ...] = ()
    """Passing tests without a known-answer copy."""
    duration_s: float = 0.0
    steps: int = 1
    """Number of commands of the command line that ran, up to the one in this report."""
    ended_at: str = ""
    """The last command that ran; empty if the command line is one command."""

    @property
    def knows_tests(self) -> bool:
        """Return True if the runner reports tests by name, so that single tests can be run."""
        return self.traits.takes_targets

    @property
    def traits(self) -> RunnerTraits:
        """Return the properties of the runner."""
        return find_traits(self.runner)

    @property
    def hangs(self) -> bool:
        """Return True if a test or the command timed out, so that another run is expensive."""
        return self.verdict is RunVerdict.TIMEOUT or any(failure.hung for failure in self.failures)

    @property
    def failing(self) -> frozenset[str]:
        """Return the names of all failing and erroring tests."""
        return frozenset(
            n for n, s in self.outcomes.items() if s in {TestStatus.FAIL, TestStatus.ERROR}
        )

    @property
    def passing(self) -> frozenset[str]:
        """Return the names of all passing tests."""
        return frozenset(n for n, s in self.outcomes.items() if s is TestStatus.PASS)


class FileContext(Frozen):
    """Source lines around one line."""

    success: bool
    file: str
    focus_line: int
    focus_content: str = ""
    context_before: tuple[str, ...] = ()
    context_after: tuple[str, ...] = ()
    total_lines: int = 0
    snippet: str = ""
    """Numbered lines, with `->` at the focus line."""
