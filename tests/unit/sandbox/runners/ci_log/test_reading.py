"""Job logs of our own making: steps, hints, signals, budgets, secrets, hostile content."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.ci_log import StepHint, read_log
from sandbox.runners.ci_log.excerpt import excerpt
from sandbox.types import LogReading, LogSignal


def stamped(*lines: str, minute: int = 0) -> str:
    return "".join(
        f"2026-07-30T10:{minute:02}:{index % 60:02}.1234567Z {line}\n"
        for index, line in enumerate(lines)
    )


def group(command: str, *lines: str) -> tuple[str, ...]:
    script = (
        f"##[group]Run {command}",
        f"\x1b[36;1m{command}\x1b[0m",
        "shell: /usr/bin/bash -e {0}",
        "##[endgroup]",
    )
    return (*script, *lines)


SETUP = (
    "\ufeffCurrent runner version: '2.300'",
    "##[group]Operating System",
    "Ubuntu",
    "##[endgroup]",
)
FAILED = "##[error]Process completed with exit code 1."
INSTALL = group("pip install -r requirements.txt", "Successfully installed a-1")
PYTEST = group(
    "pytest -q",
    "F [100%]",
    "=================================== FAILURES ===================================",
    "____________________________________ test_x ____________________________________",
    "tests/test_m.py:3: in test_x",
    "    assert 1 == 2",
    "E   assert 1 == 2",
    "=========================== short test summary info ============================",
    "FAILED tests/test_m.py::test_x - assert 1 == 2",
    "1 failed in 0.10s",
    FAILED,
)
UPLOAD = group(
    "actions/upload-artifact@v4", "##[error]No files were found with the provided path: cov.xml"
)
CLEANUP = ("Post job cleanup.", "[command]/usr/bin/git version", "Cleaning up orphan processes")


def test_the_failed_step_is_read_and_nothing_beside_it() -> None:
    log = (
        stamped(*SETUP, minute=0)
        + stamped(*INSTALL, minute=1)
        + stamped(*PYTEST, minute=2)
        + stamped(*CLEANUP, minute=3)
    )
    reading = read_log(log)
    assert (reading.step, reading.command, reading.exit_code) == ("pytest -q", "pytest -q", 1)
    assert reading.failing == {"tests/test_m.py::test_x"}
    assert reading.error == "assert 1 == 2"
    (failure,) = reading.failures
    assert (failure.file, failure.line) == ("tests/test_m.py", 3)
    assert "Successfully installed" not in reading.excerpt
    assert "git version" not in reading.excerpt
    assert "\x1b" not in reading.excerpt
    assert reading.signals == ()


def test_a_step_that_cleans_up_badly_is_not_the_one_that_failed() -> None:
    reading = read_log(stamped(*SETUP, *PYTEST, *UPLOAD, *CLEANUP))
    assert reading.step == "pytest -q"


def test_a_step_that_was_allowed_to_fail_is_not_the_one_that_failed() -> None:
    lint = group(
        "mypy .",
        FAILED,
        "##[end-action id=__self.lint;outcome=failure;conclusion=success;duration_ms=1]",
    )
    assert read_log(stamped(*SETUP, *lint, *PYTEST)).step == "pytest -q"
    quiet = group("codecov", "something", FAILED)
    assert read_log(stamped(*SETUP, *PYTEST, *quiet)).step == "pytest -q"


def test_github_s_times_find_the_step_and_its_name() -> None:
    log = (
        stamped(*SETUP, minute=0)
        + stamped(*UPLOAD, minute=1)
        + stamped(*PYTEST, minute=2)
        + stamped(*UPLOAD, minute=5)
    )
    hint = StepHint("Upload what there is", "2026-07-30T10:05:00Z", "2026-07-30T10:05:09Z")
    reading = read_log(log, hint=hint)
    assert (reading.step, reading.command) == ("Upload what there is", "actions/upload-artifact@v4")
    hint = StepHint("Unit tests", "2026-07-30T10:02:01Z", "2026-07-30T10:02:20Z")
    assert read_log(log, hint=hint).step == "Unit tests"


@pytest.mark.parametrize(
    "hint",
    [
        StepHint("Tests", "2020-01-01T00:00:00Z", "2020-01-01T00:00:01Z"),
        StepHint("Tests", "nonsense", "2026-07-30T10:05:09Z"),
        StepHint("Tests"),
        StepHint("Run pytest -q"),
        None,
    ],
)
def test_without_times_that_fit_the_log_speaks_for_itself(hint: StepHint | None) -> None:
    assert read_log(stamped(*SETUP, *PYTEST, *UPLOAD), hint=hint).step == "pytest -q"


def test_times_of_a_composite_action_span_its_groups() -> None:
    log = stamped(*SETUP, minute=0) + stamped(
        *group("./.github/actions/a", "one"), *group("make it", "it is dirty"), minute=1
    )
    reading = read_log(
        log, hint=StepHint("Composite", "2026-07-30T10:01:00Z", "2026-07-30T10:01:30Z")
    )
    assert reading.step == "Composite"
    assert "it is dirty" in reading.excerpt


@pytest.mark.parametrize(
    ("line", "signal"),
    [
        ("##[error]The runner has received a shutdown signal. This can happen when", LogSignal.RUNNER_LOST),
        ("##[error]The self-hosted runner: x lost communication with the server.", LogSignal.RUNNER_LOST),
        ("##[error]The operation was canceled.", LogSignal.CANCELLED),
        ("##[error]The job running on runner x has exceeded the maximum execution time of 360 minutes.", LogSignal.TIMED_OUT),
        ("##[error]The action 'pytest' has timed out after 5 minutes.", LogSignal.TIMED_OUT),
        ("OSError: [Errno 28] No space left on device", LogSignal.DISK_FULL),
        ("##[error]Process completed with exit code 137.", LogSignal.OUT_OF_MEMORY),
        ("FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory", LogSignal.OUT_OF_MEMORY),
        ("Error: API rate limit exceeded for installation ID 1.", LogSignal.RATE_LIMITED),
        ("toomanyrequests: You have reached your pull rate limit.", LogSignal.RATE_LIMITED),
        ("HTTP error 429 while getting x: 429 Client Error: Too Many Requests for url", LogSignal.RATE_LIMITED),
        ("curl: (6) Could not resolve host: files.example.org", LogSignal.NETWORK),
        ("pip._vendor.urllib3.exceptions.ReadTimeoutError: HTTPSConnectionPool: Read timed out.", LogSignal.NETWORK),
        ("fatal: unable to access 'https://x/': Failed to connect to x port 443: Connection timed out", LogSignal.NETWORK),
        ("ERROR: Could not install packages due to an OSError: [Errno 104] Connection reset by peer", LogSignal.NETWORK),
        ("npm ERR! code ECONNRESET", LogSignal.NETWORK),
        ("ssl.SSLCertVerificationError: [SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed", LogSignal.NETWORK),
        ("Error response from daemon: manifest for x/y:3 not found: manifest unknown", LogSignal.REGISTRY),
        ("ERROR: No matching distribution found for nothing==1", LogSignal.REGISTRY),
        ("##[error]Unable to resolve action `a/b@v9`, unable to find version `v9`", LogSignal.REGISTRY),
        ("##[error]Resource not accessible by integration", LogSignal.CREDENTIALS),
    ],
)  # fmt: skip
def test_signs_of_an_outage_are_seen_with_their_line(line: str, signal: LogSignal) -> None:
    reading = read_log(stamped(*SETUP, *INSTALL, *group("make deps", "fetching", line, FAILED)))
    assert signal in reading.signals
    assert reading.signs[signal] == line


@pytest.mark.parametrize(
    "line",
    [
        "tests/test_http.py::test_connection_reset PASSED",
        "requests.exceptions.ConnectionError: HTTPConnectionPool(host='127.0.0.1'): Connection reset by peer",
        "Connecting to localhost: Connection timed out",
        "test_rate_limit ok",
        "cancelled 3 tasks",
        "Access Denied while writing the cache",
    ],
)
def test_what_a_program_says_of_itself_is_no_outage(line: str) -> None:
    assert read_log(stamped(*SETUP, *group("pytest", line, FAILED))).signals == ()


def test_an_outage_in_a_step_that_went_well_is_none() -> None:
    early = group(
        "pip install x", "WARNING: Retrying after connection broken by 'ReadTimeoutError'", "done"
    )
    assert read_log(stamped(*SETUP, *early, *PYTEST)).signals == ()


def test_progress_colours_and_windows_lines_are_seen_through() -> None:
    log = stamped(
        *SETUP, *group("make", "10%\r20%\r100% done", "\x1b[31merror: no\x1b[0m", FAILED)
    ).replace("\n", "\r\n")
    reading = read_log(log)
    assert reading.error == "error: no"
    assert "10%" not in reading.excerpt
    assert "100% done" in reading.excerpt


def test_the_first_and_the_last_error_are_shown_within_the_budget() -> None:
    noise = [f"line {number}" for number in range(5000)]
    lines = [
        *noise[:500],
        "error: the first thing",
        *noise[500:4500],
        "error: the last thing",
        *noise[4500:],
    ]
    text = excerpt(lines, budget=2000)
    assert len(text.encode()) <= 2100
    assert "error: the first thing" in text
    assert "error: the last thing" in text
    assert text.count("lines omitted") == 3
    assert "line 4999" not in text


def test_long_lines_and_other_letters_keep_the_budget() -> None:
    text = excerpt(["error: " + "é" * 5000] * 100, budget=3000)
    assert len(text.encode()) <= 3200
    assert "[...]" in text


def test_a_log_cut_in_the_middle_is_read_from_there() -> None:
    reading = read_log(stamped(*PYTEST[6:], *CLEANUP))
    assert reading.step is None
    assert reading.failing == {"tests/test_m.py::test_x"}
    assert read_log(stamped(*PYTEST[6:]), hint=StepHint("Unit tests")).failing == {
        "tests/test_m.py::test_x"
    }


SECRET = "hunter2-hunter2-hunter2"


def test_secrets_are_seen_nowhere_in_a_reading() -> None:
    lines = group(
        f"deploy {SECRET}",
        f"error: cannot use {SECRET}",
        f"FAILED tests/test_m.py::test_x[{SECRET}] - ValueError: {SECRET}",
        f"curl: (6) Could not resolve host: {SECRET}.example.org",
        "x" * 1990 + SECRET,
        FAILED,
    )
    reading = read_log(stamped(*SETUP, *lines), secrets=(SECRET,))
    assert reading.failures
    assert reading.signs
    shown = reading.model_dump_json()
    assert "hunter2" not in shown


def test_a_reading_survives_being_stored() -> None:
    reading = read_log(
        stamped(*SETUP, *group("x", "curl: (6) Could not resolve host: a", *PYTEST[4:]))
    )
    assert LogReading.model_validate_json(reading.model_dump_json()) == reading


HOSTILE = {
    "newlines": "\n" * 3_000_000,
    "one line": "x" * 5_000_000,
    "escapes": "\x1b[" * 1_000_000,
    "returns": "abc\r" * 1_000_000,
    "groups": "##[group]Run x\n" * 200_000,
    "red groups": "##[group]Run x\n##[error]a\n" * 100_000,
    "errors": "ERROR: failed error: cannot Traceback Error\n" * 100_000,
    "banners": "=== FAILURES ===\n____ t ____\n" * 100_000,
    "tests": "".join(f"FAILED tests/test_{number}.py::x - y\n" for number in range(100_000)),
    "findings": "".join(f"a{number}.py:1:2: E501 long\n" for number in range(100_000))
    + "##[error]x\n",
    "open brackets": "##[error]" + "[" * 1_000_000,
    "colons": ("a:" * 900 + "\n") * 2000 + "##[error]x\n",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_logs_are_read_in_time_and_within_bounds(name: str) -> None:
    started = time.process_time()
    reading = read_log(HOSTILE[name])
    assert time.process_time() - started < 5
    assert len(reading.model_dump_json()) < 400_000
    assert len(reading.excerpt.encode()) <= 9 * 1024
    assert len(reading.failures) <= 200


@given(st.text(max_size=300), st.lists(st.sampled_from(["##[group]Run x", "##[error]a", "##[endgroup]", "FAILED a.py::b", "\r", "Z", "2026-07-30T10:00:00.1234567Z "]), max_size=20))  # fmt: skip
def test_nothing_breaks_the_reader(text: str, lines: list[str]) -> None:
    read_log("\n".join([*lines, text, *lines]), hint=StepHint(text, text, text))
