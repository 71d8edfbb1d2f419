"""Candidates a processor second, from what was noted at the events of a search."""

import pytest

from benchmarks.lane_rates import Reading, rate, summary


@pytest.mark.parametrize(
    ("readings", "expected"),
    [
        ([("started", 0, 4.0), ("progress", 50, 5.0), ("done", 100, 9.0)], 50.0),
        ([("started", 0, 4.0), ("done", 8, 8.0)], 2.0),
        ([("started", 0, 4.0), ("done", 0, 4.5)], None),
        ([("done", 0, 4.5)], None),
        ([], None),
    ],
    ids=["up to the comparison", "no other reading", "nothing tried", "refused", "nothing noted"],
)
def test_a_rate_counts_from_the_start_of_the_trials(
    readings: list[Reading], expected: float | None
) -> None:
    assert rate(readings) == expected


def test_a_lane_that_is_not_used_for_a_bug_is_left_out_of_its_median() -> None:
    told = summary([{"swap": 100.0, "fresh": None}, {"swap": 20.0, "fresh": 5.0}, {"because": ""}])
    assert told["lanes"]["swap"] == {"bugs": 2, "median": 60.0, "least": 20.0}
    assert told["lanes"]["fresh"] == {"bugs": 1, "median": 5.0, "least": 5.0}
    assert told["lanes"]["cold"] == {"bugs": 0, "median": None, "least": None}
