"""The meter under a mission as it begins, with time that passes before the first step is metered."""

from dataclasses import replace
from pathlib import Path

import pytest

from bot.domain.account import Grant, Quota
from bot.domain.mission import Outcome
from bot.domain.policy import RepositoryPolicy
from bot.ledger.work import WorkMeter, WorkMeters
from bot.mission.start import begin
from bot.mission.steps import Ended
from sandbox.types import SourceDiff
from tests.accounts import an_account
from tests.builders import a_request
from tests.databases import LosesAnAnswer, a_database
from tests.fakes.fixed_clock import FixedClock
from tests.unit.bot.mission.world import CHECKOUT, Stage

pytestmark = pytest.mark.anyio

DAY_S = 86_400.0


async def a_try(meters: WorkMeters, clock: FixedClock, seconds: float) -> None:
    """Of one mission: its beginning, and one step."""

    async def slow() -> SourceDiff:
        clock.advance(seconds)
        return SourceDiff(files={})

    request, policy = a_request(mission_id="m-1"), RepositoryPolicy()
    run = await begin(
        request,
        policy,
        CHECKOUT,
        replace(Stage(clock=clock).ports, meter=meters.of(request, policy)),
    )
    try:
        await run.steps.run("one", SourceDiff, slow)
    finally:
        await run.steps.close()


@pytest.mark.parametrize("is_given_back", [True, False])
async def test_tries_of_one_mission_add_up_though_time_passes_before_they_are_metered(
    tmp_path: Path, *, is_given_back: bool
) -> None:
    clock, database = FixedClock(step=0.5), a_database(tmp_path)
    meters = WorkMeters(database, Quota(seconds_per_day=2_000.0), clock)
    for _ in range(2):
        await a_try(meters, clock, 1_500.0)
        if is_given_back:  # else the ledger could not be used at that moment
            await meters.give_back("m-1")
    with pytest.raises(Ended) as caught:
        await a_try(meters, clock, 1_500.0)
    assert caught.value.trouble.outcome is Outcome.BUDGET
    [(taken,)] = database.run(lambda tx: tx.execute("SELECT earlier + seconds FROM work"))
    assert taken == pytest.approx(3_000.0, abs=5.0)


async def test_the_time_of_all_tries_counts_on_the_day_of_the_newest(tmp_path: Path) -> None:
    clock, database = FixedClock(step=0.5), a_database(tmp_path)
    meters = WorkMeters(database, Quota(seconds_per_day=2_000.0), clock)
    for _ in range(2):
        await a_try(meters, clock, 500.0)
        await meters.give_back("m-1")
        clock.advance(DAY_S)
    [(day, set_aside)] = database.run(lambda tx: tx.execute("SELECT day, set_aside FROM work"))
    assert (day, set_aside) == ("2026-01-03", 0.0)


async def test_a_try_begins_once_though_the_server_s_answer_was_lost(tmp_path: Path) -> None:
    database, own = a_database(tmp_path), Grant(seconds=100.0, limit="its own")
    earlier = WorkMeter(database, an_account())
    await earlier.before(0.0, own)
    await earlier.close(30.0)
    again = WorkMeter(LosesAnAnswer(database), an_account(), patience_s=0.01)
    assert await again.before(10.0, own) == own
    query = "SELECT earlier, seconds, set_aside FROM work"
    assert database.run(lambda tx: tx.execute(query)) == [(20.0, 10.0, 100.0)]
