"""Several steps are red: the reading is about the one that made the job red."""

import pytest

from sandbox.ci_log import StepHint, read_log
from sandbox.types import LogSignal
from tests.job_logs import OLD_LOGS, Log, begun, ended, text

CAUSE = "3 of 40 recorded answers differ: user, order, invoice"
WORDS_ONLY = [f"answer {number} read" for number in range(40)] + [CAUSE]
"""The failing step's lines: none uses a word for an error."""


def red(log: Log, command: str, *lines: str, script: tuple[str, ...] = (), status: int = 1) -> None:
    """Write a red step with a script of several lines."""
    log.write(
        f"##[group]Run {command}",
        *(script or (command,)),
        "shell: /usr/bin/bash -e {0}",
        "##[endgroup]",
        *lines,
    )
    log.write(f"##[error]Process completed with exit code {status}.")
    log.wait(1)


@pytest.mark.parametrize(
    "script",
    [
        ("cat logs/*.log || true",),
        ("docker logs app", "docker compose down --volumes"),
        ("set -x", "if [ -d logs ]; then", "  tail -n 100 logs/worker.log", "fi"),
        ("./ci/clean-up.sh",),
        ("python -m tools.stats.upload_results --bucket results",),
        ("kubectl get pods --all-namespaces", "kubectl describe pods || true"),
        ("sudo journalctl -u docker || :", "df -h"),
        ("aws s3 cp out/ s3://bucket/out --recursive",),
    ],
)
def test_a_later_red_step_that_shows_or_cleans_up_is_not_the_cause(script: tuple[str, ...]) -> None:
    log = begun()
    red(log, "./ci/compare.sh", *WORDS_ONLY)
    red(log, script[0], *OLD_LOGS, script=script)
    ended(log)
    reading = read_log(text(log))
    assert reading.step == "./ci/compare.sh"
    assert CAUSE in reading.excerpt
    assert OLD_LOGS[0] not in reading.excerpt


@pytest.mark.parametrize(
    "action",
    [
        "actions/upload-artifact@v4",
        "codecov/codecov-action@v5",
        "dorny/test-reporter@v2",
        "slackapi/slack-github-action@v2",
        "actions/cache/save@v4",
        "./.github/actions/teardown-linux",
    ],
)
def test_a_red_action_of_that_kind_counts_neither_before_nor_after(action: str) -> None:
    for order in ("before", "after"):
        log = begun()
        if order == "before":
            log.step(action, ["##[error]Error: the service refused: not authorized, failed"])
        red(log, "./ci/compare.sh", *WORDS_ONLY)
        if order == "after":
            log.step(action, ["##[error]Error: the service refused: not authorized, failed"])
        ended(log)
        assert read_log(text(log)).step == "./ci/compare.sh"


def test_a_step_that_looks_after_things_is_the_cause_when_it_alone_is_red() -> None:
    log = begun()
    red(log, "cat expected.txt", "cat: expected.txt: No such file or directory")
    ended(log)
    assert read_log(text(log)).step == "cat expected.txt"


@pytest.mark.parametrize(
    "command",
    ["pytest --collect-only", "make artifacts", "cat seed.sql | psql app", "git diff --exit-code"],
)
def test_work_that_only_resembles_looking_after_is_the_cause(command: str) -> None:
    log = begun()
    red(log, command, *WORDS_ONLY)
    red(log, "./ci/package.sh", *OLD_LOGS)
    ended(log)
    assert read_log(text(log)).step == command


def test_a_script_that_ends_itself_with_a_status_means_to_fail() -> None:
    check = (
        'if [ -n "$(git status --porcelain)" ]; then',
        '  echo "generated files are stale"',
        "  exit 1",
        "fi",
    )
    log = begun()
    red(log, "codecov upload", "nothing to send")
    red(log, check[0], "generated files are stale", script=check)
    ended(log)
    assert read_log(text(log)).error == "generated files are stale"


def test_of_two_red_steps_that_work_the_first_is_the_cause() -> None:
    log = begun()
    red(log, "./ci/compare.sh", *WORDS_ONLY)
    red(log, "./ci/package.sh", "error: the comparison left no file", "FAILED (errors=1)")
    ended(log)
    assert read_log(text(log)).step == "./ci/compare.sh"


def neighbours(*, seconds: float) -> tuple[str, tuple[str, str], tuple[str, str]]:
    """Three red steps of so many seconds; the log, and GitHub's times of the second and of the third."""
    log = begun()
    marks = []
    for number in range(3):
        begin = log.moment
        log.step(f"./ci/part-{number}.sh", [f"error: part {number} is broken"], 1)
        log.wait(seconds)
        marks.append((begin, log.moment))
    ended(log)
    return text(log), marks[1], marks[2]


@pytest.mark.parametrize("seconds", [0.5, 1.3, 2.0, 30.0])
def test_a_neighbour_within_the_skew_does_not_win_against_the_hint(seconds: float) -> None:
    log, second, third = neighbours(seconds=seconds)
    for index, (begin, end) in ((1, second), (2, third)):
        reading = read_log(log, hint=StepHint("Part", begin, end))
        assert (reading.step, reading.command) == ("Part", f"./ci/part-{index}.sh")


def test_steps_that_begin_in_one_second_are_distinguished_by_their_end() -> None:
    log = begun()
    log.wait(-log.fraction)
    for number, seconds in ((0, 0.3), (1, 5.0), (2, 0.1)):
        log.write(
            f"##[group]Run ./ci/part-{number}.sh", "shell: bash", "##[endgroup]", f"error: {number}"
        )
        log.write("##[error]Process completed with exit code 2.")
        log.wait(seconds)
    ended(log)
    hint = StepHint("Part", "2026-07-30T10:00:01Z", "2026-07-30T10:00:06Z")
    assert read_log(text(log), hint=hint).command == "./ci/part-1.sh"


def test_an_error_that_a_step_prints_and_survives_is_not_the_cause() -> None:
    log = begun()
    log.step(
        "acme/lint-action@v1", ["##[error]style.py:3: line too long", "1 finding, none of them new"]
    )
    red(log, "./ci/compare.sh", *WORDS_ONLY)
    ended(log)
    assert read_log(text(log)).step == "./ci/compare.sh"


def test_an_action_that_ends_with_an_error_is_the_cause() -> None:
    log = begun()
    log.step(
        "acme/setup-action@v1", ["looking for version 99", "##[error]Version 99 was not found"]
    )
    red(log, "./ci/package.sh", "error: no version is set up")
    ended(log)
    assert read_log(text(log)).error == "Version 99 was not found"


def test_a_step_that_begins_late_by_github_s_clock_is_still_found() -> None:
    log, (begin, _), _ = neighbours(seconds=30)
    early = f"{begin[:17]}{int(begin[17:19]) - 2:02}Z"
    assert read_log(log, hint=StepHint("Part", early, early)).command == "./ci/part-1.sh"


def test_a_name_that_the_log_shows_decides_between_neighbours() -> None:
    log = begun()
    at = log.moment
    for number in range(3):
        log.write(
            f"##[group]Run make part-{number}", "shell: bash", "##[endgroup]", f"error: {number}"
        )
        log.write("##[error]Process completed with exit code 2.")
    ended(log)
    for number in range(3):
        assert (
            read_log(text(log), hint=StepHint(f"Run make part-{number}", at, at)).error
            == f"error: {number}"
        )


@pytest.mark.parametrize(
    "answer",
    [
        '{"message":"Not Found","documentation_url":"https://docs.example.org/rest","status":"404"}',
        '{"error":"invalid_grant","error_description":"the code was used before"}',
        '{\n  "errors": [\n    {"code": "DENIED", "message": "access to the resource is gone"}\n  ]\n}',
        '{"kind":"Status","status":"Failure","reason":"Forbidden","code":403}',
        "<Error><Code>AccessDenied</Code><Message>Request has expired</Message></Error>",
        "gateway says no",
    ],
)
def test_a_short_log_without_steps_or_marks_is_shown(answer: str) -> None:
    reading = read_log(answer)
    assert reading.excerpt == answer
    assert reading.error


def test_of_a_part_of_a_log_the_last_work_is_shown() -> None:
    log = Log()
    log.step("./ci/fetch.sh", ["fetched 3 parts"])
    log.step("./ci/publish.sh", ["the gateway says no"])
    log.step("actions/cache/save@v4", ["saved"])
    reading = read_log(text(log))
    assert (reading.step, reading.excerpt) == ("./ci/publish.sh", "the gateway says no")


def test_a_whole_log_without_a_mark_is_green() -> None:
    log = begun()
    log.step("./ci/compare.sh", ["40 recorded answers are the same"])
    ended(log)
    assert read_log(text(log)).excerpt == ""


def test_an_outage_in_a_later_step_is_none_of_the_failed_one() -> None:
    log = begun()
    red(log, "./ci/compare.sh", *WORDS_ONLY)
    log.step(
        "actions/upload-artifact@v4",
        ["##[error]Error: HttpError: 403, Resource not accessible by integration"],
    )
    ended(log)
    assert read_log(text(log)).signals == ()
    log.write("##[error]The runner has received a shutdown signal.")
    assert read_log(text(log)).signals == (LogSignal.RUNNER_LOST,)


@pytest.mark.parametrize("lines", [(), ("The tests failed, see above.",)])
def test_a_step_that_passes_on_an_earlier_failure_is_shown_with_it(lines: tuple[str, ...]) -> None:
    log = begun()
    red(
        log,
        "pytest -q",
        "tests/test_m.py:3: in test_x",
        "FAILED tests/test_m.py::test_x - assert 1 == 2",
    )
    log.write("##[end-action id=__self.tests;outcome=failure;conclusion=success;duration_ms=1]")
    begin = log.moment
    red(log, "exit 1", *lines)
    end = log.moment
    ended(log)
    reading = read_log(text(log), hint=StepHint("Fail if a test failed", begin, end))
    assert reading.step == "Fail if a test failed"
    assert "FAILED tests/test_m.py::test_x" in reading.excerpt
    assert reading.error == (lines[0] if lines else "assert 1 == 2")
    assert reading.failing == (set() if lines else {"tests/test_m.py::test_x"})


def test_a_step_that_says_what_failed_is_shown_alone() -> None:
    log = begun()
    red(log, "mypy src", "src/a.py:1: error: not a type")
    log.write("##[end-action id=__self.types;outcome=failure;conclusion=success;duration_ms=1]")
    red(log, "./ci/compare.sh", "Error: the answers differ")
    ended(log)
    reading = read_log(text(log))
    assert reading.error == "Error: the answers differ"
    assert "not a type" not in reading.excerpt
