"""The paper plan for many repositories: its simulation of one shard, and that it says what breaks first."""

from dataclasses import replace

from benchmarks.shard_hours import HOUR_S, World, play
from benchmarks.shards import Design, Measured, plan


def at(*arrivals: tuple[float, int, float]) -> list[tuple[float, int, float]]:
    """In the hour that counts."""
    return [(HOUR_S + after, whose, seconds) for after, whose, seconds in arrivals]


def test_who_finds_no_slot_waits_for_one() -> None:
    assert play(at((1, 1, 10), (2, 2, 10), (3, 3, 10)), slots=2) == [0, 0, 8]


def test_a_repository_takes_one_slot_at_a_time_and_its_line_is_no_wait_for_a_slot() -> None:
    assert play(at((1, 1, 10), (2, 1, 10), (3, 2, 10)), slots=2) == [0, 0, 0]


def test_what_came_in_the_hour_that_fills_the_slots_does_not_count() -> None:
    assert play([(1, 1, 10)], slots=1) == []


def test_the_plan_grows_with_the_repositories_and_says_what_breaks_first() -> None:
    small, large = (
        plan(World(repositories=count), Measured(), Design(), 1) for count in (10_000, 1_000_000)
    )
    assert small["shards"] == 1 < large["shards"]
    assert large["one_shard_at_peak"]["wait_for_a_slot_p99_s"] <= Design().wait_p99_s
    assert list(large["breaks_at_repositories"].values()) == sorted(
        large["breaks_at_repositories"].values()
    )
    dear = replace(Measured(), database_cpu_ms=1_000)
    assert plan(World(), dear, Design(), 1)["shards"] > large["shards"], (
        "a dearer mission takes more databases"
    )
