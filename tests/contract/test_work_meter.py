"""What the meter of missions keeps to: their number and their time have limits that hold over processes."""

import asyncio
from pathlib import Path

import pytest

from bot.domain.account import Grant, Quota
from bot.domain.pause import Pause
from bot.domain.policy import PolicyLimits, RepositoryPolicy
from bot.domain.request import MissionRequest, Trigger
from bot.errors import BudgetSpent, Paused
from bot.ledger import work
from bot.ledger.calls import CallLedger
from bot.ledger.pauses import Pauses, pause_before
from bot.ledger.work import WorkMeter, WorkMeters
from bot.registry import under_way
from bot.registry.stored import StoredRegistry
from bot.store.database import Database
from tests.accounts import an_account
from tests.builders import a_repository, a_request
from tests.contract.test_ledger import ANSWER, a_call
from tests.databases import BOTH, a_database_of
from tests.fakes.fixed_clock import FixedClock
from tests.patience import HANG_S

pytestmark = pytest.mark.anyio

OWN = Grant(seconds=1_800.0, limit="the time for one mission")


@pytest.fixture(params=BOTH)
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Database:
    return a_database_of(request.param, request, tmp_path)


def a_meter(database: Database, **changes: object) -> WorkMeter:
    return WorkMeter(database, an_account(**changes), patience_s=0.0)


async def test_a_step_may_take_what_the_mission_has_left(database: Database) -> None:
    meter = a_meter(database)
    assert await meter.before(0.0, OWN) == OWN
    later = OWN.with_(seconds=1_700.0)
    assert await meter.before(100.0, later) == later


@pytest.mark.parametrize(
    "limit", ["seconds_per_pull_request", "seconds_per_day", "seconds_per_day_installation"]
)
async def test_a_step_may_take_no_more_than_a_limit_leaves_and_says_which(
    database: Database, limit: str
) -> None:
    first = a_meter(database, installation="9", **{limit: 100})
    await first.before(0.0, OWN)
    await first.close(70.0)
    second = a_meter(database, mission="m-2", installation="9", **{limit: 100})
    grant = await second.before(0.0, OWN)
    assert (grant.seconds, limit in grant.limit) == (30.0, True)
    assert (await second.before(29.0, OWN)).seconds == 1.0
    with pytest.raises(BudgetSpent, match=limit):
        await second.before(29.5, OWN)
    with pytest.raises(BudgetSpent, match=limit):
        await a_meter(database, mission="m-3", installation="9", **{limit: 99}).before(0.0, OWN)


async def test_time_that_a_mission_may_still_take_is_nobody_else_s_and_comes_back(
    database: Database,
) -> None:
    first, second = (
        a_meter(database, mission=name, seconds_per_day=2_000) for name in ("m-1", "m-2")
    )
    await first.before(0.0, OWN)
    assert (await second.before(0.0, OWN)).seconds == 200.0
    await first.close(10.0)
    assert (await second.before(0.0, OWN)).seconds == 1_800.0


async def test_what_a_dead_process_had_set_aside_is_free_when_its_mission_is_given_up(
    database: Database,
) -> None:
    dead, next_one = (
        a_meter(database, mission=name, seconds_per_pull_request=2_000) for name in ("m-1", "m-2")
    )
    await dead.before(0.0, OWN)
    await WorkMeters(database, Quota(), FixedClock()).give_back("m-1")
    assert await next_one.before(0.0, OWN) == OWN


async def test_who_lost_its_mission_gives_back_and_sets_aside_nothing_of_its_successor_s(
    database: Database,
) -> None:
    """A process that was stopped for a while wakes up, and is refused whatever it writes down."""
    limit = {"seconds_per_day": 2_000}
    stopped, successor = (a_meter(database, **limit) for _ in range(2))
    await stopped.before(0.0, OWN)
    await successor.before(0.0, OWN)
    await stopped.close(900.0)
    other = a_meter(database, mission="m-2", **limit)
    assert (await other.before(0.0, OWN)).seconds == 200.0
    assert await stopped.before(900.0, OWN) == OWN
    await stopped.close(1_000.0)
    assert (await other.before(0.0, OWN)).seconds == 200.0
    assert await successor.before(10.0, OWN.with_(seconds=1_790.0)) == OWN.with_(seconds=1_790.0)
    await successor.close(20.0)
    assert await other.before(0.0, OWN) == OWN


async def test_a_mission_whose_every_step_is_remembered_gives_back_what_the_dead_one_had_set_aside(
    database: Database,
) -> None:
    limit = {"seconds_per_day": 2_000}
    await a_meter(database, **limit).before(0.0, OWN)
    await a_meter(database, **limit).close(500.0)
    assert (await a_meter(database, mission="m-2", **limit).before(0.0, OWN)).seconds == 1_500.0


async def test_missions_are_counted_when_they_begin_and_once_however_often_they_are_taken_up(
    database: Database,
) -> None:
    for _ in range(3):
        await a_meter(database, missions_per_day=2).before(0.0, OWN)
    await a_meter(database, mission="m-2", missions_per_day=2).before(0.0, OWN)
    with pytest.raises(BudgetSpent, match="missions_per_day allows 2 missions, and 2 were started"):
        await a_meter(database, mission="m-3", missions_per_day=2).before(0.0, OWN)
    await a_meter(database, mission="m-3", missions_per_day=2, day="2026-01-03").before(0.0, OWN)
    await a_meter(database, mission="m-4", missions_per_day=2, repository="acme/else").before(
        0.0, OWN
    )


async def test_a_mission_counts_on_the_day_it_began(database: Database) -> None:
    await a_meter(database, seconds_per_day=100).before(0.0, OWN)
    later = a_meter(database, seconds_per_day=100, day="2026-01-03")
    assert (await later.before(60.0, OWN)).seconds == 40.0
    assert (
        await a_meter(database, mission="m-2", seconds_per_day=100, day="2026-01-03").before(
            0.0, OWN
        )
    ).seconds == 100


async def test_what_is_remembered_after_a_death_takes_nothing_off_what_was_booked(
    database: Database,
) -> None:
    meter = a_meter(database, seconds_per_mission=100)
    await meter.before(0.0, OWN)
    await meter.close(60.0)
    assert (await meter.before(20.0, OWN)).seconds == 40.0


async def test_a_mission_that_is_begun_anew_adds_to_what_its_earlier_tries_took(
    database: Database,
) -> None:
    """A red check asks again for a mission that failed, under the same name, as often as it comes."""
    meters = WorkMeters(database, Quota(), FixedClock())
    for already in (0.0, 40.0):
        again = a_meter(database, seconds_per_day=100)
        assert (await again.before(0.0, OWN)).seconds == 100.0 - already
        await again.before(30.0, OWN)
        await again.close(40.0)
        await meters.give_back("m-1")
    other = a_meter(database, mission="m-2", seconds_per_day=100)
    assert (await other.before(0.0, OWN)).seconds == 20.0
    await other.close(0.0)
    tomorrow = a_meter(database, seconds_per_day=100, day="2026-01-03")
    assert (await tomorrow.before(0.5, OWN)).seconds == 19.5, (
        "what was not metered is booked, and makes no difference"
    )
    await other.before(0.0, OWN.with_(seconds=1.0))
    assert (
        await a_meter(database, mission="m-3", seconds_per_day=100).before(0.0, OWN)
    ).seconds == 99.0


async def test_a_mission_that_goes_on_elsewhere_adds_what_was_broken_off_and_keeps_its_day(
    database: Database,
) -> None:
    first = a_meter(database, seconds_per_mission=100)
    await first.before(0.0, OWN)
    await first.before(20.0, OWN)
    await first.close(60.0)  # 40 of them in a step that nobody remembers
    later = a_meter(database, seconds_per_mission=100, day="2026-01-03")
    assert (await later.before(20.0, OWN)).seconds == 40.0
    assert (await later.before(50.0, OWN)).seconds == 10.0
    assert database.run(lambda tx: tx.execute("SELECT day FROM work")) == [("2026-01-02",)]


async def test_policy_and_quota_make_the_ceilings_and_the_day_is_the_clock_s(
    database: Database,
) -> None:
    meters = WorkMeters(database, Quota(missions_per_day_total=1), FixedClock())
    request = MissionRequest(
        mission_id="m-1", trigger=Trigger.CHECK_RUN, repository=a_repository(), pull_request=7
    )
    policy = RepositoryPolicy(limits=PolicyLimits(seconds_per_pull_request=50.0))
    assert (await meters.of(request, policy).before(0.0, OWN)).seconds == 50.0
    with pytest.raises(BudgetSpent, match="missions_per_day_total"):
        await meters.of(request.with_(mission_id="m-2"), policy).before(0.0, OWN)


async def test_the_bill_has_what_a_dead_process_had_set_aside_too(database: Database) -> None:
    ledger = CallLedger(database, patience_s=0.0)
    paid = await ledger.reserve(an_account(), "a", a_call())
    await ledger.settle(paid.id, a_call(cost_usd=0.02, usage=ANSWER.usage), ANSWER)
    await ledger.reserve(an_account(), "b", a_call())
    await ledger.reserve(an_account(mission="m-2"), "c", a_call())
    bill = await a_meter(database).bill()
    assert (bill.calls, bill.unpriced_calls, bill.cost_usd, bill.usage) == (
        2,
        1,
        0.02,
        ANSWER.usage,
    )


async def test_no_mission_begins_while_everything_is_paused_and_those_that_began_go_on(
    database: Database,
) -> None:
    running, waiting, pauses = a_meter(database), a_meter(database, mission="m-2"), Pauses(database)
    await running.before(0.0, OWN)
    await pauses.set(Pause(why="an upgrade"))
    assert await running.before(1.0, OWN) == OWN
    begun = asyncio.create_task(waiting.before(0.0, OWN))
    await asyncio.sleep(0.3)
    assert not begun.done()
    assert await pauses.end()
    assert not await pauses.end()
    assert await asyncio.wait_for(begun, work.LOOK_S + HANG_S) == OWN


@pytest.mark.parametrize("place", ["acme", "acme/shop"])
async def test_a_mission_that_was_let_in_before_its_place_was_paused_does_not_begin(
    database: Database, place: str
) -> None:
    account, places = an_account(), ("", "acme", "acme/shop")
    running = WorkMeter(database, account, places=places)
    await running.before(0.0, OWN)
    await Pauses(database).set(Pause(place=place, why="too noisy"))
    assert await running.before(1.0, OWN) == OWN
    assert await WorkMeter(database, account, places=places).before(1.0, OWN) == OWN, (
        "it goes on in another process"
    )
    with pytest.raises(Paused, match=rf"^{place} is paused by the operator \(too noisy\)$"):
        await WorkMeter(database, account.with_(mission="m-2"), places=places).before(0.0, OWN)
    await WorkMeters(database, Quota(), FixedClock()).give_back("m-1")
    with pytest.raises(Paused):
        await WorkMeter(database, account, places=places).before(0.0, OWN)
    assert database.run(lambda tx: tx.execute("SELECT mission FROM work")) == [("m-1",)], (
        "nothing was counted"
    )
    await WorkMeter(
        database, account.with_(mission="m-3"), places=("", "other", "other/shop")
    ).before(0.0, OWN)


async def test_a_mission_that_failed_and_is_in_line_again_does_not_run_before_it_begins_anew(
    database: Database,
) -> None:
    pauses, registry, clock = Pauses(database), StoredRegistry(database), FixedClock()
    meters, request = WorkMeters(database, Quota(), clock), a_request(mission_id="m-1")

    async def running() -> list[str]:
        return [mission.mission_id for mission in await pauses.running()]

    await under_way.begin(request, registry, clock)
    assert await running() == []
    await meters.of(request, RepositoryPolicy()).before(0.0, OWN)
    assert await running() == ["m-1"]
    await under_way.end("m-1", registry)
    await meters.give_back("m-1")
    await under_way.begin(request, registry, clock)
    assert await running() == [], "it waits to be let in"
    await pauses.set(Pause())
    again = asyncio.create_task(meters.of(request, RepositoryPolicy()).before(0.5, OWN))
    await asyncio.sleep(0.3)
    assert (again.done(), await running()) == (False, [])
    await pauses.end()
    await asyncio.wait_for(again, work.LOOK_S + HANG_S)
    assert await running() == ["m-1"]


async def test_who_pauses_waits_for_a_mission_that_begins_at_that_moment(
    database: Database,
) -> None:
    """Else `--drain` would be told that nothing runs."""
    pauses, other = Pauses(database), Database(database.url)
    assert await pauses.all() == ()
    with other.transaction() as beginning:
        assert pause_before(beginning, ("",)) is None
        paused = asyncio.create_task(pauses.set(Pause()))
        await asyncio.sleep(0.3)
        assert not paused.done()
    await asyncio.wait_for(paused, HANG_S)
    other.close()


async def test_a_place_is_an_account_or_a_repository_and_the_widest_pause_is_told(
    database: Database,
) -> None:
    pauses, here = Pauses(database), a_repository()
    assert await pauses.of(here) is None
    await pauses.set(Pause(place="somebody-else"))
    assert await pauses.of(here) is None
    narrow, wide = (
        Pause(place=here.full_name.lower(), now=True),
        Pause(place=here.owner.lower(), why="noisy", at="1"),
    )
    await pauses.set(narrow.with_(now=False))
    await pauses.set(narrow)
    assert await pauses.of(here) == narrow
    await pauses.set(wide)
    assert await pauses.of(here) == wide
    assert wide.in_words.endswith("is paused by the operator (noisy)")
    assert [one.place for one in await pauses.all()] == [wide.place, narrow.place, "somebody-else"]
