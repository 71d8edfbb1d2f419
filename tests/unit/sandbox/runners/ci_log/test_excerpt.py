"""Which lines of a step an excerpt shows when it cannot show all."""

import pytest

from sandbox.ci_log import read_log
from sandbox.runners.ci_log.excerpt import excerpt
from sandbox.types import LogSignal

PASSES = [
    f"tests/test_errors.py::test_failed_login_{number}_is_refused PASSED [ 10%]"
    for number in range(400)
]


@pytest.mark.parametrize(
    "headline",
    [
        ">>> Lint for src/app/models.py:",
        "==> Checking src/app/models.py",
        "### src/app/models.py",
        "------- src/app/models.py -------",
        "src/app/models.py:",
        "Findings in src/app/models.py",
    ],
)
def test_a_finding_is_shown_with_its_headline(headline: str) -> None:
    finding = [
        headline,
        "",
        "  Error (STYLE) quotes",
        "    Use double quotes.",
        "",
        "    >>>  12  |name = 'x'",
    ]
    context = [
        f"         {number}  |    value_{number} = compute_{number}()" for number in range(13, 33)
    ]
    lines = [*PASSES, *finding, *context, *PASSES]
    shown = excerpt(lines, budget=1200)
    assert headline in shown
    assert "Error (STYLE) quotes" in shown


def test_an_indented_finding_is_shown_with_what_it_belongs_to() -> None:
    page = ["site", "  guide", "    chapter-4"]
    others = [f"      page {number}: read" for number in range(12)]
    lines = [*PASSES, *page, *others, "      page 12: broken link to /old", *PASSES]
    shown = excerpt(lines, budget=1200).split("\n")
    assert {*page, "      page 12: broken link to /old"} <= set(shown)


def test_a_step_that_fits_is_shown_whole() -> None:
    lines = [f"step {number} of 40" for number in range(40)]
    assert excerpt(lines) == "\n".join(lines)


def test_the_line_that_differs_from_all_others_is_found_without_any_word() -> None:
    lines = [f"page-{number}.png   0.00 %" for number in range(2000)]
    lines.insert(700, "page-new.png has another size   12.41 %")
    shown = excerpt(lines)
    assert "page-new.png has another size" in shown
    assert "page-0.png" not in shown


def test_tests_that_pass_take_no_room_whatever_their_names_say() -> None:
    lines = [*PASSES, "E   assert 3 == 4", *PASSES]
    shown = excerpt(lines, budget=3000)
    assert "E   assert 3 == 4" in shown
    assert "PASSED" not in shown


def test_a_message_that_repeats_leaves_room_for_the_others() -> None:
    lines = [f"error: worker {number} lost its connection" for number in range(500)]
    lines.insert(250, "error: the disk of host db-1 is read-only")
    assert "the disk of host db-1" in excerpt(lines, budget=2000)


def test_links_that_terminals_show_are_taken_out() -> None:
    line = "a.js:2:7 \x1b]8;;https://example.org/rules/no-debugger\x1b\\lint/no-debugger\x1b]8;;\x1b\\ error"
    assert read_log(line).excerpt == "a.js:2:7 lint/no-debugger error"


@pytest.mark.parametrize(
    ("line", "signal"),
    [
        ("integration suite took >30min, returning 124", LogSignal.TIMED_OUT),
        ("make: *** [Makefile:4: test] Error 124 (exit code 124)", LogSignal.TIMED_OUT),
        ("timeout: sending signal TERM to command 'pytest'", LogSignal.TIMED_OUT),
        ("shard 3 ran longer than 45 minutes", LogSignal.TIMED_OUT),
        ("The build stage has timed out.", LogSignal.TIMED_OUT),
        ("deploy: deadline exceeded", LogSignal.TIMED_OUT),
        ("killing worker 7 after a timeout", LogSignal.TIMED_OUT),
        ("the download of model.bin has timed out", LogSignal.NETWORK),
        ("Fetching submodule 'lib' timed out", LogSignal.NETWORK),
    ],
)
def test_a_time_out_in_words_is_a_signal(line: str, signal: LogSignal) -> None:
    reading = read_log(
        f"##[group]Run ./ci/run.sh\n##[endgroup]\n{line}\n##[error]Process completed with exit code 1.\n"
    )
    assert reading.signs == {signal: line}
    assert line in reading.excerpt


@pytest.mark.parametrize(
    "line",
    [
        "test_download_has_timed_out PASSED",
        "the suite took 12 s, no time-out",
        "124 tests returned",
        "waiting at most 30min for the database",
    ],
)
def test_words_about_time_are_no_time_out(line: str) -> None:
    reading = read_log(
        f"##[group]Run ./ci/run.sh\n##[endgroup]\n{line}\n##[error]Process completed with exit code 1.\n"
    )
    assert reading.signals == ()
