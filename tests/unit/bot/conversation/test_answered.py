"""The mission of an answer: the chosen change alone is tried, and the proposal is decided when it is handed over."""

from dataclasses import replace
from typing import Any

import pytest
from typing_extensions import override

from bot.conversation.answered import fixers_for, note_answer
from bot.domain.mission import MissionContext, Outcome
from bot.domain.publication import Publication
from bot.domain.registry import ProposedChange
from bot.domain.request import Answer
from bot.errors import StoreError
from bot.fixers.chosen import ChosenFixer
from bot.pipeline import handle_request
from bot.queue.memory import MemoryCheckpoint
from sandbox.types import FileEdit
from tests.builders import a_commanded_request, a_lesson
from tests.fakes.memory_lessons import MemoryLessons
from tests.fakes.memory_registry import MemoryRegistry
from tests.fakes.scripted_fixer import ScriptedFixer
from tests.unit.bot.conversation.desks import a_proposal, a_red_pull
from tests.unit.bot.mission.world import EVENS, MENDED, PATH, a_world
from tests.unit.bot.test_pipeline import Stage

pytestmark = pytest.mark.anyio
LADDER = (ScriptedFixer(lambda _files, _context: []),)


def answer(**changes: Any) -> Answer:
    return Answer(proposal_id="mission:42:old", choice=1).with_(**changes)


async def registry_with(**changes: Any) -> MemoryRegistry:
    registry = MemoryRegistry()
    await registry.propose(a_proposal(2, **changes))
    return registry


async def chosen(given: Answer | None, registry: MemoryRegistry | None) -> Any:
    checkpoint = MemoryCheckpoint(through_json=True)
    return await fixers_for(a_commanded_request(answer=given), LADDER, registry, checkpoint)


async def test_a_chosen_change_stands_alone() -> None:
    (fixer,) = await chosen(answer(choice=2), await registry_with())
    assert isinstance(fixer, ChosenFixer)
    assert fixer._change is not None
    assert fixer._change.title == "change 2"


@pytest.mark.parametrize("given", [None, answer(choice=None, text="yes")])
async def test_words_leave_the_ladder_as_it_is(given: Answer | None) -> None:
    assert await chosen(given, await registry_with()) == LADDER
    assert await chosen(answer(), None) == LADDER


@pytest.mark.parametrize("given", [answer(choice=9), answer(proposal_id="lost")])
async def test_a_choice_that_is_lost_is_not_replaced_by_another_change(given: Answer) -> None:
    (fixer,) = await chosen(given, await registry_with())
    assert isinstance(fixer, ChosenFixer)
    assert fixer._change is None


class BrokenRegistry(MemoryRegistry):
    """It cannot be read."""

    @override
    async def proposal(self, *_: Any, **__: Any) -> Any:
        raise StoreError("the registry cannot be used")


async def test_a_registry_that_cannot_be_read_breaks_no_mission() -> None:
    (fixer,) = await chosen(answer(), BrokenRegistry())
    assert fixer._change is None
    told = Publication(mission_id="m", way="push")
    asked = a_commanded_request(answer=answer())
    await note_answer(asked, told, BrokenRegistry(), MemoryLessons())


@pytest.mark.parametrize(
    ("way", "decided"),
    [
        ("pull-request", "applied"),
        ("push", "applied"),
        ("suggest", "applied"),
        ("report", ""),
        (None, ""),
    ],
)
async def test_a_proposal_is_decided_when_its_change_is_handed_over(way: Any, decided: str) -> None:
    registry = await registry_with()
    lessons = MemoryLessons(a_lesson(id="mission:42:old", mission_id="mission:42:old"))
    told = Publication(mission_id="m", way=way)
    await note_answer(a_commanded_request(answer=answer(choice=2)), told, registry, lessons)
    (lesson,) = lessons.lessons.values()
    assert lesson.fate == ("answered" if decided else "unknown")
    assert ("change 2" in lesson.sentence, lesson.verdict) == (
        (True, False) if decided else (False, None)
    )
    assert registry.proposals[42, "mission:42:old"].decided == decided


async def test_what_was_decided_meanwhile_stays() -> None:
    registry = await registry_with(decided="rejected")
    told = Publication(mission_id="m", way="push")
    await note_answer(a_commanded_request(answer=answer()), told, registry, MemoryLessons())
    assert registry.proposals[42, "mission:42:old"].decided == "rejected"


def a_change_of(source: str) -> ProposedChange:
    edit = FileEdit(path=PATH, mode="100644", content=source.encode())
    return ProposedChange(
        title="use + for -", diff="", edits=(edit,), patch_id="p", rung=1, template="swap_operator"
    )


async def played(stage: Stage, source: str) -> tuple[MissionContext, MemoryRegistry]:
    """The mission of `/metaagent apply` with this change."""
    registry = MemoryRegistry()
    await registry.propose(a_proposal(head_branch="main").with_(changes=(a_change_of(source),)))
    stage.github.permissions["alice"] = "write"
    stage.github.pulls[5] = a_red_pull(head_ref="main")
    line = replace(stage.services, registry=registry, fixers=LADDER)
    context = await handle_request(
        a_commanded_request(answer=answer()), line, stage.github, MemoryCheckpoint()
    )
    return context, registry


async def test_from_apply_to_a_pull_request() -> None:
    stage = Stage(world=a_world(EVENS))
    context, registry = await played(stage, MENDED)
    assert context.outcome is Outcome.FIXED, context.reason
    assert context.fix is not None
    assert context.fix[0].fixer == "choice"
    assert [pull for pull in stage.github.pulls.values() if pull.author == "metaagent[bot]"]
    assert registry.proposals[42, "mission:42:old"].decided == "applied"


async def test_a_chosen_change_that_breaks_something_is_not_applied() -> None:
    stage = Stage(world=a_world(EVENS))
    context, registry = await played(stage, EVENS.replace("a - b", "a * b"))
    assert context.outcome is Outcome.NO_FIX
    assert [pull for pull in stage.github.pulls.values() if pull.author == "metaagent[bot]"] == []
    assert registry.proposals[42, "mission:42:old"].decided == ""
