"""A mission within the limits of a day, under the operator's kill switch, and with a bill that forgets nothing."""

import asyncio
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from bot.domain.account import Quota
from bot.domain.mission import Outcome
from bot.domain.pause import Pause
from bot.domain.request import RepositoryRef
from bot.intake.pauses import LOOK_S
from bot.ledger.calls import CallLedger
from bot.ledger.pauses import Pauses
from bot.ledger.work import WorkMeters
from bot.pipeline import MissionServices, handle_request
from tests.accounts import an_account
from tests.builders import a_repository, a_request
from tests.contract.test_ledger import a_call
from tests.databases import a_database
from tests.fakes.fixed_clock import FixedClock
from tests.patience import HANG_S
from tests.unit.bot.mission.world import ADDS, a_world
from tests.unit.bot.test_pipeline import RecordingCheckpoint, Stage

pytestmark = pytest.mark.anyio


@dataclass
class Limited:
    """The pipeline with a ledger."""

    folder: Path
    quota: Quota = field(default_factory=Quota)

    def __post_init__(self) -> None:
        self.stage = Stage(a_world(ADDS))
        self.database = a_database(self.folder)
        self.pauses = Pauses(self.database)

    @property
    def services(self) -> MissionServices:
        meters = WorkMeters(self.database, self.quota, FixedClock())
        return replace(self.stage.services, meters=meters, switchboard=self.pauses)

    async def outcome(self, name: str = "m-0001") -> tuple[Outcome | None, str]:
        request = a_request(mission_id=name)
        context = await handle_request(
            request, self.services, self.stage.github, RecordingCheckpoint()
        )
        return context.outcome, context.reason


async def test_the_mission_above_the_day_s_number_ends_as_budget_and_says_so(
    tmp_path: Path,
) -> None:
    limited = Limited(tmp_path, Quota(missions_per_day_total=1))
    assert (await limited.outcome())[0] is Outcome.FIXED
    outcome, reason = await limited.outcome("m-0002")
    assert (outcome, reason) == (
        Outcome.BUDGET,
        "quota.missions_per_day_total allows 1 missions, and 1 were started",
    )
    assert limited.stage.github.checks[-1].updates[-1].title.startswith("BUDGET")


async def test_the_time_of_missions_is_booked_and_ends_the_next_one(tmp_path: Path) -> None:
    limited = Limited(tmp_path, Quota(seconds_per_day=1.0))
    assert (await limited.outcome())[0] is Outcome.FIXED
    rows = limited.database.run(lambda tx: tx.execute("SELECT mission, set_aside FROM work"))
    assert [tuple(row) for row in rows] == [("m-0001", 0.0)], "what was set aside is given back"
    limited.database.run(lambda tx: tx.change("UPDATE work SET seconds = 1.0"))
    outcome, reason = await limited.outcome("m-0002")
    assert outcome is Outcome.BUDGET
    assert "quota.seconds_per_day" in reason


async def test_a_request_waits_while_everything_is_paused(tmp_path: Path) -> None:
    limited = Limited(tmp_path)
    await limited.pauses.set(Pause())
    mission = asyncio.create_task(limited.outcome())
    await asyncio.sleep(0.3)
    assert not limited.stage.listened
    await limited.pauses.end()
    assert (await asyncio.wait_for(mission, LOOK_S + HANG_S))[0] is Outcome.FIXED


async def test_a_paused_place_refuses_so_that_its_requests_keep_nobody_waiting(
    tmp_path: Path,
) -> None:
    limited = Limited(tmp_path)
    await limited.pauses.set(Pause(place=a_repository().owner.lower(), why="too noisy"))
    outcome, reason = await limited.outcome()
    assert outcome is Outcome.POLICY
    assert reason.endswith("is paused by the operator (too noisy)")
    assert not limited.stage.listened


class LooksTooEarly:
    """The switchboard a moment before the operator pauses."""

    async def of(self, repository: RepositoryRef) -> Pause | None:
        return None


async def test_a_place_that_is_paused_just_after_a_request_was_let_in_refuses_in_the_same_words(
    tmp_path: Path,
) -> None:
    limited = Limited(tmp_path)
    await limited.pauses.set(Pause(place=a_repository().full_name.lower(), why="too noisy"))
    services = replace(limited.services, switchboard=LooksTooEarly())
    context = await handle_request(
        a_request(), services, limited.stage.github, RecordingCheckpoint()
    )
    assert (context.outcome, context.advice) == (Outcome.POLICY, Pause.advice)
    assert (
        context.reason
        == f"{a_repository().full_name.lower()} is paused by the operator (too noisy)"
    )
    assert not limited.database.run(lambda tx: tx.execute("SELECT mission FROM work")), (
        "it did not begin"
    )


async def test_what_a_dead_process_had_paid_for_is_on_the_bill(tmp_path: Path) -> None:
    limited = Limited(tmp_path)
    reserved = await CallLedger(limited.database).reserve(
        an_account(mission="m-0001"), "k", a_call()
    )
    await CallLedger(limited.database).settle(reserved.id, a_call(cost_usd=0.25), None)
    context = await handle_request(
        a_request(), limited.services, limited.stage.github, RecordingCheckpoint()
    )
    assert context.spent is not None
    assert (context.spent.calls, context.bill.cost_usd, context.cost_usd) == (1, 0.25, 0.25)
    assert any("$0.2500" in pull.body for pull in limited.stage.github.pulls.values())
