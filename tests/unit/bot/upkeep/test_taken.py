"""What became of a fix is learned for every way of handing it over, also if people changed it."""

from typing import Any

import pytest

from bot.domain.github import CommitState
from bot.domain.lesson import RememberedFix
from bot.domain.registry import FixState, OfferedFix
from bot.domain.request import HeadMoved
from bot.errors import GitHubError
from bot.upkeep.expire import expire
from bot.upkeep.feedback import head_moved, take_feedback
from bot.upkeep.taken import accepts_suggestion
from tests.builders import HEAD, a_feedback, a_lesson
from tests.fakes.memory_lessons import MemoryLessons
from tests.unit.bot.upkeep.world import NEWER, NUMBER, REPOSITORY, World, a_fix

pytestmark = pytest.mark.anyio
DAY = 86_400.0
RED = b"def add(a, b):\n    return a - b\n"
OURS = b"def add(a, b):\n    return a + b\n"
THEIRS = b"def add(a, b):\n    return sum((a, b))\n"
FIX = RememberedFix(diff="-a - b\n+a + b", title="use +", score=0.8)
APPLIED = "Apply suggestions from code review\n\nCo-authored-by: metaagent[bot] <1+x@users.test>"


def a_world(fix: OfferedFix | None = None, **lesson: Any) -> World:
    """A fix with its lesson; `fix` was handed over without a pull request."""
    number = NUMBER if fix is None else None
    world = World(lessons=MemoryLessons(a_lesson(fix=FIX, pull_request=number, **lesson)))
    if fix is not None:
        world.registry.fixes = {fix.key: fix}
    return world


def pushed_to(branch: str, message: str, world: World) -> HeadMoved:
    """A push of one commit by a person."""
    world.github.commits[NEWER] = CommitState(
        sha=NEWER, parents=(HEAD,), message=message, author="ada"
    )
    return HeadMoved(repository=REPOSITORY, branch=branch, before=HEAD, after=NEWER, pusher="ada")


PUSHED = a_fix(pull_request=None, branch="main")
SUGGESTED = a_fix(pull_request=None, branch="main", commit=HEAD)


@pytest.mark.parametrize(
    ("theirs", "is_ours"),
    [(THEIRS, False), (OURS.replace(b"\n    ", b"\n    # sums\n    "), True), (OURS, True)],
)
async def test_a_change_that_people_edited_is_kept_with_its_difference(
    theirs: bytes, *, is_ours: bool
) -> None:
    world = a_world(fate="open")
    world.put(a_fix(files={"calculator.py": "100644"}))
    world.github.pulls[NUMBER] = world.github.pulls[NUMBER].with_(head_sha=NEWER)
    contents = {HEAD: RED, world.fix.commit: OURS, NEWER: theirs}
    world.github.files = {(sha, "calculator.py"): text for sha, text in contents.items()}
    await take_feedback(a_feedback(), world.services)
    (lesson,) = world.lessons.lessons.values()
    assert (lesson.fate, lesson.verdict) == ("merged", is_ours)
    assert lesson.fix is not None
    if is_ours:
        assert (lesson.fix, lesson.difference) == (FIX, "")
    else:
        assert "-    return a + b\n+    return sum((a, b))" in lesson.difference
        assert "-    return a - b\n+    return sum((a, b))" in lesson.fix.diff


async def test_an_edited_change_is_no_evidence_for_the_template() -> None:
    lessons = MemoryLessons(a_lesson(confidence=0.8, pull_request=NUMBER, fate="open"))
    await lessons.feed_back(a_feedback(difference="+x", taken="+x"))
    assert await lessons.template_record(repository_id="42", error=None) == {
        "swap_operator": (1, 1)
    }
    assert [one.merged for one in await lessons.forecasts(repository_id="42")] == [False]


async def test_a_difference_that_cannot_be_read_is_asked_for_again() -> None:
    world = a_world(fate="open")
    world.github.pulls[NUMBER] = world.github.pulls[NUMBER].with_(head_sha=NEWER)
    world.github.faults["pull_request_files"] = [GitHubError("away", retryable=True)]
    with pytest.raises(GitHubError):
        await take_feedback(a_feedback(), world.services)
    await take_feedback(a_feedback(), world.services)
    assert world.fate == "merged"


async def test_an_applied_suggestion_is_merged_and_its_revert_is_learned() -> None:
    world = a_world(SUGGESTED)
    await head_moved(pushed_to("main", APPLIED, world), world.services)
    assert world.registry.fixes[SUGGESTED.key].state is FixState.MERGED
    assert world.fate == "merged"
    undone = pushed_to("main", f"Oh\n\nThis reverts commit {NEWER}.", world)
    await head_moved(undone, world.services)
    assert world.registry.fixes[SUGGESTED.key].state is FixState.REVERTED
    assert world.fate == "reverted"


@pytest.mark.parametrize(
    ("branch", "message"),
    [
        ("main", "Co-authored-by: somebody <a@b.test>"),
        ("main", "say Co-authored-by: metaagent[bot]"),
        ("other", APPLIED),
    ],
)
async def test_another_commit_applies_no_suggestion(branch: str, message: str) -> None:
    world = a_world(SUGGESTED)
    await head_moved(pushed_to(branch, message, world), world.services)
    assert (world.registry.fixes[SUGGESTED.key], world.fate) == (SUGGESTED, "unknown")


def test_the_trailer_names_our_login() -> None:
    assert accepts_suggestion(APPLIED, "metaagent[bot]")
    assert not accepts_suggestion(APPLIED, "other[bot]")


async def test_a_pushed_commit_that_people_revert_is_learned() -> None:
    world = a_world(PUSHED)
    message = f"Revert it\n\nThis reverts commit {PUSHED.commit}."
    await head_moved(pushed_to("main", message, world), world.services)
    assert world.fate == "reverted"
    assert [one.id for one in await world.lessons.refused(repository_id="42")] == ["m-0001"]


@pytest.mark.parametrize(
    ("fix", "state", "fate"),
    [
        (PUSHED, FixState.MERGED, "merged"),
        (SUGGESTED, FixState.EXPIRED, "ignored"),
    ],
    ids=["push", "suggestion"],
)
async def test_silence_accepts_a_commit_and_ignores_a_suggestion(
    fix: OfferedFix, state: FixState, fate: str
) -> None:
    world = a_world(fix)
    await expire(REPOSITORY, world.services)
    assert (world.registry.fixes[fix.key].state, world.fate) == (FixState.OPEN, "unknown")
    world.clock.advance(15 * DAY)
    for _ in range(2):
        await expire(REPOSITORY, world.services)
        assert (world.registry.fixes[fix.key].state, world.fate) == (state, fate)


async def test_a_pull_request_a_report_and_a_question_that_people_leave_alone_are_ignored() -> None:
    world = a_world(fate="open")
    shown = a_lesson(id="m-2", mission_id="m-2", fix=FIX, outcome="NEEDS_HUMAN")
    fork = a_lesson(id="m-3", mission_id="m-3", fix=FIX, repository_id="42:fork")
    nothing = a_lesson(id="m-4", mission_id="m-4", outcome="FLAKY")
    for lesson in (shown, fork, nothing):
        await world.lessons.remember(lesson)
    world.clock.advance(15 * DAY)
    await expire(REPOSITORY, world.services)
    fates = {one.id: one.fate for one in world.lessons.lessons.values()}
    assert fates == {"m-0001": "ignored", "m-2": "ignored", "m-3": "ignored", "m-4": "unknown"}
    ignored = world.lessons.lessons["m-0001"]
    assert (ignored.verdict, await world.lessons.refused(repository_id="42")) == (None, ())
