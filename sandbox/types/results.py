"""What commands and tests left behind."""

from enum import StrEnum
from typing import Literal

from pydantic import Field

from sandbox.types.frozen import Frozen

FAILURES_IN_FULL = 10
"""How many failures a report carries in full; the rest are counted."""


TestOrder = Literal["given", "reversed", "random"]
"""In which order tests run; `random` is shuffled by the seed that comes with it."""


class CommandResult(Frozen):
    """One command run in the sandbox."""

    argv: tuple[str, ...]
    exit_code: int | None
    """None when the command was killed before it ended."""
    signal: int | None = None
    timed_out: bool = False
    flooded: bool = False
    """Killed because it printed more than the limit."""
    oom_kills: int = 0
    survivors: int = 0
    """Processes still alive when the command ended; all were killed."""
    stdout: str = ""
    """Head and tail of standard output, cut in the middle; hostile text, not yet gated."""
    stderr: str = ""
    results: bytes = b""
    """What was written to file descriptor 3, at most the results limit; hostile bytes."""
    duration_s: float = 0.0

    @property
    def ok(self) -> bool:
        """Whether the command ended by itself with status 0."""
        return self.exit_code == 0 and not (self.timed_out or self.flooded)


class TestStatus(StrEnum):
    """How one test ended."""

    __test__ = False

    PASS = "pass"
    FAIL = "fail"
    ERROR = "error"
    SKIP = "skip"


class TestResult(Frozen):
    """One test: how it ended, and if it failed, where and why."""

    __test__ = False

    name: str
    """The node id, `tests/test_math.py::test_add`; for a linter `path:line:rule`."""
    status: TestStatus
    output: str = ""
    error_message: str | None = None
    duration_ms: float = 0.0
    file: str | None = None
    """Where it failed, relative to the checkout: the deepest frame inside the checkout."""
    line: int | None = None
    column: int | None = None
    """Of a finding, where its tool tells one."""
    test: str | None = None
    """The test function's name."""
    error: str | None = None
    """The exception's class name, or a linter's rule."""
    traceback: str | None = None
    frames: tuple[tuple[str, int, str], ...] = ()
    """(file, line, function) of the traceback's frames inside the checkout, outermost first."""
    hung: bool = False
    """It did not end and was stopped by us; `error` is then `Timeout`, which is also a name of exceptions."""


def stands_for(name: str, test: str) -> bool:
    """Whether a test, or a file, is what a name means: itself, or what is in that file, class or folder.

    Args:
        name: A node id, a file, or a folder; `.` is the checkout.
        test: A node id or a path.
    """
    return name in {test, "."} or test.startswith((f"{name}[", f"{name}::", f"{name}/"))


class RunVerdict(StrEnum):
    """What one run of a command proves."""

    PASS = "pass"
    FAIL = "fail"
    TIMEOUT = "timeout"
    OOM = "oom"
    OUTPUT_LIMIT = "output_limit"
    NO_VERDICT = "no_verdict"
    """Nothing could be concluded: no test collected, the command does not exist, the runner broke."""
    TAMPERED = "tampered"
    """The records contradict each other: something inside tried to decide its own verdict."""


class TestReport(Frozen):
    """One run of a test (or lint, or build) command, read into structured failures."""

    __test__ = False

    success: bool
    """The command ended by itself, its status says green, and the records agree."""
    failed: bool
    """At least one test failed or errored (a command that could not run has `failed` False)."""
    exit_code: int | None
    target: str
    """The command as a person would type it."""
    summary: str
    """One line: `2 failed, 2 passed in 0.1 s`."""
    failure_count: int
    failures: tuple[TestResult, ...] = ()
    """At most FAILURES_IN_FULL of them in full."""
    raw_output: str = ""
    """Bounded head and tail of the output; hostile text."""
    verdict: RunVerdict = RunVerdict.NO_VERDICT
    runner: str = "command"
    """Which reader made the report: `pytest`, `unittest`, `junit`, `diagnostics`, `command`."""
    outcomes: dict[str, TestStatus] = Field(default_factory=dict)
    """Every test that ran, by name."""
    unconfirmed: tuple[str, ...] = ()
    """Passing tests of which no known-answer copy could be made."""
    duration_s: float = 0.0
    steps: int = 1
    """How many commands of the command line ran, up to and with the one this report is about."""
    ended_at: str = ""
    """That command; empty when the command line is one command."""

    @property
    def knows_tests(self) -> bool:
        """Whether each test was seen by name, so that single tests can be asked for."""
        return self.runner in {"pytest", "unittest"}

    @property
    def hangs(self) -> bool:
        """Whether it found something that does not end, so that running it again is dear."""
        return self.verdict is RunVerdict.TIMEOUT or any(failure.hung for failure in self.failures)

    @property
    def failing(self) -> frozenset[str]:
        """The names of all failing and erroring tests."""
        return frozenset(n for n, s in self.outcomes.items() if s in {TestStatus.FAIL, TestStatus.ERROR})

    @property
    def passing(self) -> frozenset[str]:
        """The names of all passing tests."""
        return frozenset(n for n, s in self.outcomes.items() if s is TestStatus.PASS)


class FileContext(Frozen):
    """Source around one line."""

    success: bool
    file: str
    focus_line: int
    focus_content: str = ""
    context_before: tuple[str, ...] = ()
    context_after: tuple[str, ...] = ()
    total_lines: int = 0
    snippet: str = ""
    """Numbered lines, the focus line marked `->`."""
