"""Limits with four processes: missions at the same time in a repository, a process and in all, in a minute; ticks."""

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.builders import a_repository
from tests.chaos.crew import Crew, Line, say, until
from tests.chaos.worker import a_request
from tests.postgres import Server

pytestmark = [pytest.mark.slow, pytest.mark.anyio]

PROCESSES, EACH, TOTAL = 4, 3, 5
MISSIONS, REPOSITORIES = 24, 6


@pytest.fixture
def crew(postgres: Server, tmp_path: Path) -> Iterator[Crew]:
    built = Crew(postgres.new_database(), tmp_path, steps=1, ttl_s=20.0)
    yield built
    built.stop()


async def a_crew_at_work(crew: Crew, *options: str) -> None:
    crew.options = options
    for _ in range(PROCESSES):
        crew.start()
    await until(crew.are_ready, 120, "for the workers")


async def put_in_line(crew: Crew) -> None:
    web = crew.web()
    await web.launch()
    for number in range(MISSIONS):
        await web.submit(
            a_request(number).with_(repository=a_repository(id=number % REPOSITORIES + 1))
        )
    await web.close()


def peak(crew: Crew, group: Callable[[Line], object]) -> int:
    """The most missions of a group at the same time."""
    lines = sorted(
        crew.lines("begin") + crew.lines("end"), key=lambda line: (line.at, line.what == "begin")
    )
    now: Counter[object] = Counter()
    most = 0
    for line in lines:
        now[group(line)] += 1 if line.what == "begin" else -1
        most = max(most, now[group(line)])
    return most


async def test_limits_of_missions_at_the_same_time_hold_with_four_processes(crew: Crew) -> None:
    await a_crew_at_work(crew, "--workers", str(EACH), "--workers-total", str(TOTAL))
    await put_in_line(crew)
    await until(lambda: crew.are_done(MISSIONS), 180, "for the missions")
    repository = {f"m-{number}": number % REPOSITORIES for number in range(MISSIONS)}
    peaks = {
        "in a repository": peak(crew, lambda line: repository[line.mission]),
        "in a process": peak(crew, lambda line: line.worker),
        "in all": peak(crew, lambda _: None),
    }
    say("limits", peaks)
    assert peaks["in a repository"] == 1
    assert peaks["in a process"] <= EACH
    assert peaks["in all"] <= TOTAL


async def test_missions_begin_no_faster_than_allowed_and_a_tick_is_one_firing_with_four_processes(
    crew: Crew,
) -> None:
    await a_crew_at_work(crew, "--per-minute", "4", "--tidy-at", "*/2 * * * * *")
    await put_in_line(crew)
    await until(lambda: len(crew.lines()) >= 4, 60, "for the first missions")
    await until(lambda: len(crew.lines("tick")) >= 4, 60, "for ticks")
    ticks = crew.ask(
        "SELECT count(*) FROM {dbos}workflow_status WHERE name = 'tidy' AND status <> 'ENQUEUED'"
    )
    fired, begun = len(crew.lines("tick")), crew.lines()
    say("rates", {"begun in the first minute": len(begun), "ticks": ticks[0][0], "firings": fired})
    assert len([line for line in begun if line.at < begun[0].at + 55]) == 4
    assert fired <= int(str(ticks[0][0])) + 1, "the newest may have begun since it was asked for"
