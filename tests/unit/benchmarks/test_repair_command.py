"""`benchmarks.repair_command`: which endings of the command are errors."""

import json

import pytest

from benchmarks.repair_command import read, summarised


@pytest.mark.parametrize(("outcome", "status"), [("FOUND", 0), ("NONE", 1)])
def test_a_search_that_ended_is_no_error(outcome: str, status: int) -> None:
    printed = json.dumps({"outcome": outcome, "tried": 7})
    assert read(status, printed, "warning") == {"outcome": outcome, "tried": 7}


@pytest.mark.parametrize(
    ("status", "printed"),
    [
        (2, ""),
        (2, '{"outcome": "ERROR", "message": "it broke"}'),
        (2, '{"outcome": "NOT SEARCHED", "tried": 0}'),
        (1, '{"outcome": "FOUND", "tried": 7}'),
        (0, "Traceback"),
        (-9, ""),
    ],
)
def test_anything_else_is_one_and_keeps_what_was_printed(status: int, printed: str) -> None:
    found = read(status, printed, "Traceback (most recent call last)")
    assert (found["outcome"], found["status"]) == ("ERROR", status)
    assert printed in found["end"]
    assert "most recent call last" in found["end"]


def test_errors_are_named_and_outcomes_counted() -> None:
    rows = [
        {"bug": "a/1", "outcome": "FOUND"},
        {"bug": "a/2", "outcome": "ERROR"},
        {"bug": "b/1", "outcome": "FOUND"},
    ]
    found = summarised("releases", rows, 30.0)
    assert (found["FOUND"], found["bugs"], found["missed"]) == (2, 3, ["a/2"])
