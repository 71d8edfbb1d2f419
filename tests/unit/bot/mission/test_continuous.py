"""Missions one after another, each on what the one before mended."""

from dataclasses import replace

import pytest

from bot.domain.account import Grant
from bot.domain.mission import MissionContext, Outcome
from bot.domain.model import Spend
from bot.domain.patch import Candidate, RungNote
from bot.domain.policy import Limits
from bot.mission.continuous import run_continuous_improvement, select_reported
from tests.builders import a_request
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


class Account:
    """A meter that only writes down what is booked."""

    def __init__(self) -> None:
        self.booked: list[float] = []
        self.closed: list[float] = []

    async def before(self, spent_s: float, own: Grant) -> Grant:
        self.booked.append(spent_s)
        return own

    async def close(self, spent_s: float) -> None:
        self.closed.append(spent_s)

    async def bill(self) -> Spend:
        return Spend()


async def test_all_missions_share_the_time_of_one() -> None:
    account = Account()
    stage = Stage(clock=FixedClock(step=1.0), limits=Limits(iterations=1, mission_wall_s=500.0))
    contexts = await run_continuous_improvement(
        a_request(), stage.policy, CHECKOUT, replace(stage.ports, meter=account)
    )
    first, second = contexts
    assert second.budget.seconds == pytest.approx(500.0 - first.seconds)
    assert account.booked == sorted(account.booked), "the time of both adds up"
    assert account.closed == [
        pytest.approx(first.seconds),
        pytest.approx(first.seconds + second.seconds),
    ]


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
