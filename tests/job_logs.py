"""Job logs as GitHub's runner writes them, around what real tools printed when they failed.

`data/job_outputs/` holds what was printed: the command, its exit status, and the lines, with `#=MATCH=# ` in front of the
line that a person would call the cause. The rules of the reader were written with `learned` in view and judged with
`judged`; no tool is in both.
"""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from sandbox.ci_log import StepHint

FOLDER = Path(__file__).parent / "data" / "job_outputs"
MARK = "#=MATCH=# "
NAME = "Run the checks"
"""How the workflow calls the failing step: the log never says it."""


class Output(NamedTuple):
    """What a tool printed when it failed."""

    name: str
    command: str
    status: int
    lines: list[str]
    cause: str
    """The line a person marked."""


class JobLog(NamedTuple):
    """A log, what GitHub says about its failed step, and the line it must be read for."""

    name: str
    scene: str
    text: str
    cause: str
    step: str | None
    """How the reading must name the step; None where the log does not say it."""
    hint: StepHint | None = None


class Log:
    """A log that is being written: every line gets a time, as the runner gives it."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._now = datetime(2026, 7, 30, 10, tzinfo=UTC)

    @property
    def moment(self) -> str:
        """The time as GitHub's API tells it: whole seconds."""
        return f"{self._now:%Y-%m-%dT%H:%M:%SZ}"

    @property
    def fraction(self) -> float:
        """The part of a second that GitHub's API leaves out."""
        return self._now.microsecond / 1e6

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self._now += timedelta(seconds=seconds)

    def write(self, *lines: str) -> None:
        """Write lines a millisecond apart."""
        for line in lines:
            self.lines.append(f"{self._now:%Y-%m-%dT%H:%M:%S.%f}0Z {line}")
            self.wait(0.001)

    def step(self, command: str, lines: Sequence[str], status: int = 0) -> None:
        """Write a step: its headline, its script or inputs, its lines, and the runner's word about its end."""
        script = (f"\x1b[36;1m{command}\x1b[0m", "shell: /usr/bin/bash -e {0}")
        below = ("with:", "  if-no-files-found: error") if "@" in command else script
        self.write(
            f"##[group]Run {command}", *below, "env:", "  FAIL_FAST: false", "##[endgroup]", *lines
        )
        if status:
            self.write(f"##[error]Process completed with exit code {status}.")
        self.wait(0.7)


def outputs(half: str) -> list[Output]:
    """The recorded outputs of a half, `learned` or `judged`, by name."""
    return [_output(path) for path in sorted((FOLDER / half).glob("*.txt"))]


def _output(path: Path) -> Output:
    command, status, *lines = path.read_text(encoding="utf-8").rstrip("\n").split("\n")
    cause = next(line for line in lines if line.startswith(MARK)).removeprefix(MARK)
    plain = [line.removeprefix(MARK) for line in lines]
    return Output(
        path.stem, command.removeprefix("$ "), int(status.removeprefix("exit ")), plain, cause
    )


def job_logs(output: Output) -> Iterator[JobLog]:
    """The output in every scene."""
    yield JobLog(output.name, "bare", "\n".join(output.lines) + "\n", output.cause, None)
    yield _written(output, "plain", output.lines)
    yield _written(output, "long", [*noise(600), *output.lines, *leaving(40)])
    yield _before_clean_up(output)
    yield _between_neighbours(output)
    yield _cut(output)


def _written(output: Output, scene: str, lines: Sequence[str]) -> JobLog:
    log = begun()
    log.step(output.command, lines, output.status)
    ended(log)
    return JobLog(output.name, scene, text(log), output.cause, output.command)


def _before_clean_up(output: Output) -> JobLog:
    """Two steps after the failing one are red as well, and the first of them prints old logs."""
    log = begun()
    log.step(output.command, [*noise(120), *output.lines], output.status)
    log.step("cat logs/*.log || true", OLD_LOGS, 1)
    log.step(
        "actions/upload-artifact@v4",
        ["##[error]No files were found with the provided path: out/report.xml."],
    )
    ended(log)
    return JobLog(output.name, "clean-up", text(log), output.cause, output.command)


def _between_neighbours(output: Output) -> JobLog:
    """Red steps begin within two seconds before and after the one that GitHub names; its times are whole seconds."""
    log = begun()
    log.step("./ci/optional-lint.sh", ["style.py:3:1: E501 line too long", "error: 1 finding"], 1)
    begin = log.moment
    log.step(output.command, [*noise(60), *output.lines], output.status)
    end = log.moment
    log.step(
        "./ci/second-opinion.sh", ["Error: the first opinion is missing", "FAILED (errors=1)"], 1
    )
    ended(log)
    return JobLog(
        output.name, "neighbours", text(log), output.cause, NAME, StepHint(NAME, begin, end)
    )


def _cut(output: Output) -> JobLog:
    """The log begins inside the step, and lacks the runner's word about its end."""
    log = Log()
    log.write(*noise(25), *output.lines, *leaving(3))
    log.step("actions/cache/save@v4", ["Cache hit occurred on the primary key, not saving cache."])
    ended(log)
    return JobLog(output.name, "cut", text(log), output.cause, None)


def begun() -> Log:
    """A log with the steps that every job begins with."""
    log = Log()
    log.write(
        "\ufeffCurrent runner version: '2.327.1'",
        "##[group]Runner Image",
        "Image: ubuntu-24.04",
        "##[endgroup]",
    )
    log.write(
        "Prepare workflow directory",
        "Download action repository 'actions/checkout@v4'",
        "Complete job name: test",
    )
    log.step(
        "actions/checkout@v4",
        ["Syncing repository: acme/app", "HEAD is now at 1a2b3c4 errors: name the field"],
    )
    log.step(
        "./ci/setup.sh",
        ["WARNING: failed to restore the cache, going on without it", "added 812 packages in 9s"],
    )
    return log


def ended(log: Log) -> None:
    """Write what every job ends with."""
    log.write("Post job cleanup.", "[command]/usr/bin/git version", "git version 2.50.1")
    log.write(
        "Temporarily overriding HOME before making global git config changes",
        "Cleaning up orphan processes",
    )


def text(log: Log) -> str:
    """The whole log."""
    return "\n".join(log.lines) + "\n"


_NOISE = (
    "[{0}/600] Building CXX object src/CMakeFiles/core.dir/part_{0}.cpp.o",
    "tests/test_error_pages.py::test_not_found_{0} PASSED",
    "  Downloading package_{0}-1.{0}.0-py3-none-any.whl (34 kB)",
    "INFO: request {0} answered in 12 ms, retry not needed",
    "DEBUG: cache miss for key invalid-{0}",
    "ok {0} - refuses input {0} (0 failures)",
    "   Compiling errors-helper-{0} v0.{0}.0",
    "warning: field `x{0}` is never read",
)
_LEAVING = (
    "Removing temporary folder {0}",
    "Stopping service {0}",
    "Collected statistics of worker {0}",
)
OLD_LOGS = [
    f"worker {number}: error: lost job {number}, connection failed, aborted" for number in range(30)
]


def noise(count: int) -> list[str]:
    """Lines of a build that goes well; some look like errors to who only counts words."""
    return [_NOISE[number % len(_NOISE)].format(number) for number in range(count)]


def leaving(count: int) -> list[str]:
    """Lines that a script prints after what failed, on its way out."""
    return [_LEAVING[number % len(_LEAVING)].format(number) for number in range(count)]
