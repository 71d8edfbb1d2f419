"""Changes that people refused: no rung offers them again, however they are written."""

import pytest

from bot.domain.lesson import Lesson, RecalledLesson
from bot.domain.mission import MissionContext, Outcome
from bot.domain.patch import Candidate, Rung, RungNote
from bot.domain.request import Trigger
from bot.lessons.outcomes import with_fate
from tests.builders import a_feedback
from tests.fakes.memory_lessons import MemoryLessons
from tests.fakes.scripted_fixer import KnownLessons, ScriptedFixer
from tests.unit.bot.mission.test_remembered import learned
from tests.unit.bot.mission.world import ADDS, MENDED, PATH, Stage, a_fix, a_world

RIGHT = "    return n % 2 == 0"
REWRITINGS = (
    RIGHT,
    "    return 0 == n % 2  # even",
    "    return not n % 2 != 0",
    "    result = n % 2 == 0\n    return result",
    "    rest = (n % 2 == 0)\n    return rest",
    '    """Return True for even numbers."""\n    return (n % 2) == 0',
)
BEFORE_IT = "import os\n\n\n"
"""Lines that another branch added."""


async def refused(fate: str = "reverted") -> Lesson:
    return (await learned()).with_(fate=fate)


def proposing(*bodies: str, rung: Rung = Rung.SEARCH) -> ScriptedFixer:
    def propose(files: dict[str, str], _: MissionContext) -> list[Candidate | RungNote]:
        return [
            a_fix(files[PATH].replace("    return n % 2 == 1", body), id=f"c-{n}", rung=rung)
            for n, body in enumerate(bodies)
        ]

    return ScriptedFixer(propose, rung=rung)


def stage(lesson: Lesson, *fixers: ScriptedFixer, source: str = ADDS) -> Stage:
    recalled = RecalledLesson(lesson=lesson, score=1.0, reason="same fingerprint")
    return Stage(world=a_world(source, base=MENDED), fixers=fixers, recall=KnownLessons(recalled))


@pytest.mark.anyio
@pytest.mark.parametrize("source", [ADDS, BEFORE_IT + ADDS], ids=["here", "on another branch"])
@pytest.mark.parametrize("body", REWRITINGS)
async def test_a_reverted_fix_is_not_offered_again_in_any_form(body: str, source: str) -> None:
    fixer = proposing(body)
    mission = await stage(await refused(), fixer, source=source).play()
    assert mission.outcome is Outcome.NO_FIX
    assert mission.fix is None
    assert "1 candidate equal to a change that was refused or reverted here" in mission.reason


@pytest.mark.anyio
@pytest.mark.parametrize("rung", list(Rung))
async def test_no_rung_offers_it(rung: Rung) -> None:
    mission = await stage(await refused("closed"), proposing(RIGHT, rung=rung)).play()
    assert mission.fix is None


@pytest.mark.anyio
async def test_another_fix_of_the_same_rung_or_a_higher_one_is_offered() -> None:
    other = "    return n % 2 == 0 and True"
    same = await stage(await refused(), proposing(RIGHT, other)).play()
    assert same.outcome is Outcome.FIXED
    assert same.fix is not None
    assert same.fix[0].id == "c-1"
    above = proposing(other, rung=Rung.MODEL)
    higher = await stage(await refused(), proposing(RIGHT), above).play()
    assert higher.outcome is Outcome.FIXED
    assert higher.fix is not None
    assert higher.fix[0].rung is Rung.MODEL


@pytest.mark.anyio
@pytest.mark.parametrize("fate", ["open", "merged", "unknown"])
async def test_only_what_people_refused_is_left_out(fate: str) -> None:
    lesson = (await refused(fate)).with_(fingerprint="another")
    mission = await stage(lesson, proposing(RIGHT)).play()
    assert mission.outcome is Outcome.FIXED


@pytest.mark.anyio
@pytest.mark.parametrize("trigger", [Trigger.COMMENT, Trigger.COMMAND_LINE])
async def test_a_person_who_asks_gets_it(trigger: Trigger) -> None:
    mission = await stage(await refused(), proposing(RIGHT)).play(trigger=trigger)
    assert mission.outcome is Outcome.FIXED


@pytest.mark.anyio
async def test_a_refusal_reaches_the_next_mission_through_the_store() -> None:
    lesson = (await learned()).with_(pull_request=17, fate="open")
    store = MemoryLessons(lesson)
    assert await store.refused(repository_id="42") == ()
    await store.feed_back(a_feedback(pull_request=17, merged=False))
    (found,) = await store.refused(repository_id="42")
    assert found == with_fate(lesson, a_feedback(pull_request=17, merged=False))
