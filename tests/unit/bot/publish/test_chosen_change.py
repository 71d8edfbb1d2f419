"""A change a person took is handed over, also where nothing is pushed unasked; a question is kept for its answer."""

from typing import Any

import pytest

from bot.domain.mission import MissionContext, Outcome
from bot.domain.request import Answer
from bot.publish.story import build_story, headline
from sandbox.types import TrustTier
from tests.builders import HEAD, a_commanded_request, a_mission, a_verification, an_iteration
from tests.unit.bot.publish.test_delivery import World, policy

pytestmark = pytest.mark.anyio
CHOSEN = Answer(proposal_id="m-0", choice=1)


def answered(answer: Answer | None = CHOSEN, **changes: Any) -> MissionContext:
    request = a_commanded_request(
        mission_id="m-9",
        head_sha=HEAD,
        head_branch="main",
        answer=answer,
        tier=changes.pop("tier", TrustTier.BRANCH),
    )
    return a_mission(mission_id=request.mission_id, request=request).with_(**changes)


def partly(answer: Answer | None = CHOSEN, **changes: Any) -> MissionContext:
    verification = a_verification(green=False, partial=True, reason="1 of 2 failures is gone")
    iterations = (an_iteration(verification=verification),)
    return answered(answer, outcome=Outcome.PARTIAL, iterations=iterations, **changes)


@pytest.mark.parametrize(("answer", "way"), [(CHOSEN, "pull-request"), (None, None)])
async def test_what_the_policy_only_shows_is_handed_over_when_a_person_takes_it(
    answer: Any, way: str | None
) -> None:
    world = World()
    publication = await world.publish(answered(answer, policy=policy("report")))
    assert publication.way == way
    assert len(world.ours) == (way is not None)


@pytest.mark.parametrize(("answer", "way"), [(CHOSEN, "pull-request"), (None, None)])
async def test_a_part_of_a_fix_is_applied_only_when_a_person_takes_it(
    answer: Any, way: str | None
) -> None:
    world = World()
    publication = await world.publish(partly(answer))
    assert (publication.way, publication.outcome) == (way, Outcome.PARTIAL)
    assert len(world.ours) == (way is not None)


async def test_a_part_that_was_taken_is_not_said_to_be_unapplied() -> None:
    story = build_story(partly()).with_(delivered="Pull request: #1")
    assert "offered at a person's request" in headline(story)
    assert "nothing was applied" in headline(build_story(partly()))


async def test_nothing_is_pushed_to_a_fork_whatever_a_person_takes() -> None:
    world = World()
    assert (await world.publish(partly(tier=TrustTier.FORK))).way is None
    assert world.ours == []


async def test_a_question_without_a_change_is_kept_for_its_answer() -> None:
    world = World()
    asking = answered(
        None, outcome=Outcome.NEEDS_HUMAN, iterations=(), question="Which file is it?"
    )
    await world.publish(asking)
    (proposal,) = world.registry.proposals.values()
    assert (proposal.question, proposal.changes) == ("Which file is it?", ())
