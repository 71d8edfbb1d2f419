"""Missions one after another, each on what the one before mended."""

from dataclasses import replace
from pathlib import Path

import pytest

from bot.domain.account import Quota
from bot.domain.mission import MissionContext, Outcome
from bot.domain.patch import Candidate, RungNote
from bot.domain.policy import Limits
from bot.ledger.work import WorkMeters
from bot.mission.continuous import run_continuous_improvement, select_reported
from tests.builders import a_request
from tests.databases import a_database
from tests.fakes.fixed_clock import FixedClock
from tests.fakes.scripted_fixer import ScriptedFixer
from tests.unit.bot.mission.world import ADDS, CHECKOUT, MENDED, PATH, Stage, a_fix, a_world

pytestmark = pytest.mark.anyio


async def test_a_partly_mended_tree_is_mended_by_the_next_mission() -> None:
    stage = Stage(limits=Limits(iterations=1))
    contexts = await run_continuous_improvement(a_request(), stage.policy, CHECKOUT, stage.ports)
    assert [context.outcome for context in contexts] == [Outcome.PARTIAL, Outcome.FIXED]
    assert [context.mission_id for context in contexts] == ["m-0001", "m-0001-2"]
    assert [context.request.seed for context in contexts] == [0, 1]
    assert contexts[-1].fix is not None
    assert contexts[-1].fix[1].edits[0].content.decode() == MENDED


async def test_a_final_outcome_ends_it() -> None:
    stage = Stage(world=a_world(MENDED))
    contexts = await run_continuous_improvement(a_request(), stage.policy, CHECKOUT, stage.ports)
    assert [context.outcome for context in contexts] == [Outcome.NOT_REPRODUCED]


async def test_the_limit_ends_it() -> None:
    def mends_then_waits(files: dict[str, str], _: MissionContext) -> list[Candidate | RungNote]:
        return [] if files[PATH] == ADDS else [a_fix(ADDS)]

    stage = Stage(limits=Limits(iterations=1), fixers=(ScriptedFixer(mends_then_waits),))
    contexts = await run_continuous_improvement(
        a_request(), stage.policy, CHECKOUT, stage.ports, limit=1
    )
    assert [context.outcome for context in contexts] == [Outcome.PARTIAL]


async def test_a_part_is_told_of_though_the_next_mission_found_nothing_more() -> None:
    def only_a_part(files: dict[str, str], _: MissionContext) -> list[Candidate | RungNote]:
        return [] if files[PATH] == ADDS else [a_fix(ADDS)]

    stage = Stage(limits=Limits(iterations=1), fixers=(ScriptedFixer(only_a_part),))
    contexts = await run_continuous_improvement(
        a_request(), stage.policy, CHECKOUT, stage.ports, limit=2
    )
    assert [context.outcome for context in contexts] == [Outcome.PARTIAL, Outcome.NO_FIX]
    assert select_reported(contexts) is contexts[0]
    assert select_reported(contexts[1:]) is contexts[1]


async def test_all_missions_share_the_time_and_the_account_of_one(tmp_path: Path) -> None:
    database, clock = a_database(tmp_path), FixedClock(step=1.0)
    stage = Stage(clock=clock, limits=Limits(iterations=1, mission_wall_s=500.0))
    meter = WorkMeters(database, Quota(), clock).of(a_request(), stage.policy)
    first, second = await run_continuous_improvement(
        a_request(), stage.policy, CHECKOUT, replace(stage.ports, meter=meter)
    )
    assert second.budget.seconds == pytest.approx(500.0 - first.seconds)
    booked = await database.do(
        lambda tx: tx.execute("SELECT mission, seconds, set_aside FROM work")
    )
    assert booked == [("m-0001", pytest.approx(first.seconds + second.seconds), 0.0)]


async def test_without_time_no_further_mission_begins() -> None:
    whole = Stage(clock=FixedClock(step=1.0), limits=Limits(iterations=1))
    (first, *_) = await run_continuous_improvement(a_request(), whole.policy, CHECKOUT, whole.ports)
    limits = Limits(iterations=1, mission_wall_s=first.seconds + 0.5)
    stage = Stage(clock=FixedClock(step=1.0), limits=limits)
    contexts = await run_continuous_improvement(a_request(), stage.policy, CHECKOUT, stage.ports)
    assert [context.outcome for context in contexts] == [Outcome.PARTIAL]


async def test_every_mission_but_the_reported_one_is_learned_in_the_row() -> None:
    stage = Stage(limits=Limits(iterations=1))
    learned: list[tuple[int, str]] = []

    async def learn(context: MissionContext, number: int) -> None:
        learned.append((number, context.mission_id))

    await run_continuous_improvement(a_request(), stage.policy, CHECKOUT, stage.ports, learn=learn)
    assert learned == [(1, "m-0001")]
