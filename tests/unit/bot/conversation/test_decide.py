"""apply, answer, reject: what a person decides, and what then is asked for or forgotten."""

import pytest

from bot.domain.registry import FixState
from bot.domain.request import Answer
from tests.builders import a_lesson
from tests.unit.bot.conversation.desks import (
    FIX,
    FIX_BRANCH,
    FIX_PULL,
    PULL,
    Office,
    a_press,
    a_red_pull,
    put_fix,
    put_proposal,
)

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("words", "changes", "choice"),
    [
        ("apply", 1, 1),
        ("apply 1", 1, 1),
        ("apply #2", 2, 2),
        ("answer yes", 1, 1),
        ("answer OK.", 1, 1),
        ("answer 2", 3, 2),
        ("apply --mission=mission:42:old", 1, 1),
    ],
)
async def test_a_change_that_was_shown_is_verified_and_published_by_a_mission(
    words: str, changes: int, choice: int
) -> None:
    office = Office()
    proposal = put_proposal(office, changes)
    reply = await office.say(words)
    assert reply.ok, reply.text
    (request,) = office.queue.requests.values()
    assert request.answer == Answer(proposal_id=proposal.proposal_id, choice=choice)
    assert request.head_sha == proposal.head_sha


@pytest.mark.parametrize(
    ("words", "changes", "said"),
    [
        ("apply", 2, "There are 2 changes to choose from; give the number of one."),
        ("apply 3", 2, "`3` is none of them"),
        ("apply 0", 1, "is none of them"),
        ("apply 00010", 2, "`00010` is none of them"),
        ("answer maybe", 2, "`maybe` is none of them"),
        ("answer yes", 2, "give the number of one"),
        ("answer", 1, "The question is still open"),
        ("apply", 0, "No change is stored"),
        ("apply --mission=mission:other", 1, "No decision is pending"),
    ],
)
async def test_what_is_not_clear_shows_the_choices(words: str, changes: int, said: str) -> None:
    office = Office()
    put_proposal(office, changes)
    reply = await office.say(words)
    assert said in reply.text
    assert office.queue.requests == {}


async def test_words_go_on_where_a_question_has_no_ready_change() -> None:
    office = Office()
    proposal = put_proposal(office, 0)
    assert (await office.say("answer look at calculator.py:2")).ok
    (request,) = office.queue.requests.values()
    assert request.answer == Answer(
        proposal_id=proposal.proposal_id, text="look at calculator.py:2"
    )
    assert request.hint == "look at calculator.py:2"
    assert office.registry.proposals[42, proposal.proposal_id].decided == "answered"


@pytest.mark.parametrize("words", ["reject", "reject it is wrong", "answer no", "answer None"])
async def test_a_rejected_change_is_never_proposed_again(words: str) -> None:
    office = Office()
    proposal = put_proposal(office, 2)
    assert "will not be proposed again" in (await office.say(words)).text
    assert office.registry.proposals[42, proposal.proposal_id].decided == "rejected"
    for patch in ("patch-1", "patch-2"):
        assert await office.registry.is_blocked(42, patch) is not None
    assert "No decision is pending" in (await office.say("apply")).text


REASONS = [
    ("reject", ""),
    ("reject because it hides the error", "it hides the error"),
    ("reject Because: rounding is meant", "rounding is meant"),
    ("reject wrong file", "wrong file"),
    ("undo", ""),
]


@pytest.mark.parametrize(("words", "reason"), REASONS)
async def test_the_reason_of_a_person_is_kept_with_the_fix_and_given_to_the_lesson(
    words: str, reason: str
) -> None:
    office = Office()
    put_fix(office)
    assert (await office.say(words)).ok
    (feedback,) = office.queue.feedback
    assert feedback.said == reason
    blocked = await office.registry.is_blocked(42, "patch-1")
    assert blocked is not None
    assert blocked.note == f"closed by alice{f': {reason}' if reason else ''}"


@pytest.mark.parametrize(("words", "reason"), REASONS[:4])
@pytest.mark.parametrize("changes", [0, 2])
async def test_the_reason_against_a_change_that_was_only_shown_is_kept_too(
    words: str, reason: str, changes: int
) -> None:
    office = Office()
    proposal = put_proposal(office, changes)
    await office.lessons.remember(
        a_lesson(id=proposal.proposal_id, mission_id=proposal.proposal_id)
    )
    assert (await office.say(words)).ok
    (feedback,) = office.queue.feedback
    assert (feedback.mission_id, feedback.said, feedback.merged) == (
        proposal.proposal_id,
        reason,
        False,
    )
    for change in proposal.changes:
        blocked = await office.registry.is_blocked(42, change.patch_id)
        assert blocked is not None
        assert blocked.note.endswith(f": {reason}" if reason else "before it was opened")
    assert await office.lessons.feed_back(feedback) == 1
    (lesson,) = await office.lessons.newest(repository_id="42")
    assert (lesson.fate, lesson.said) == ("closed", reason)
    shown = (await office.say("lessons")).text
    assert (f"reason given: {reason}" in shown) is bool(reason)


async def test_a_question_without_changes_can_be_dropped() -> None:
    office = Office()
    put_proposal(office, 0)
    assert (await office.say("reject")).text == "The question is dropped."


@pytest.mark.parametrize("decided", ["applied", "rejected", "answered"])
async def test_what_was_decided_stays_decided(decided: str) -> None:
    office = Office()
    put_proposal(office, decided=decided)
    assert (
        f"already decided: {decided}" in (await office.say("apply --mission=mission:42:old")).text
    )


async def test_a_change_for_an_older_head_is_not_applied() -> None:
    office = Office()
    put_proposal(office, head_sha="d" * 40)
    reply = await office.say("apply")
    assert "is now at" in reply.text
    assert office.queue.requests == {}


async def test_nothing_is_pushed_to_a_fork() -> None:
    office = Office()
    put_proposal(office)
    office.github.pulls[PULL] = a_red_pull(from_fork=True)
    reply = await office.say("apply")
    assert "git apply" in reply.text
    assert "+    return a + b" in reply.text
    assert office.queue.requests == {}


async def test_a_button_decides_about_its_own_mission() -> None:
    office = Office()
    put_proposal(office)
    put_proposal(office, proposal_id="mission:42:newer", at="2026-02-02T00:00:00+00:00")
    await office.ask(a_press("apply", mission_id="mission:42:old"))
    (request,) = office.queue.requests.values()
    assert request.answer is not None
    assert request.answer.proposal_id == "mission:42:old"


async def test_a_button_of_a_mission_that_left_nothing_means_what_waits_there() -> None:
    office = Office()
    put_proposal(office)
    assert (await office.ask(a_press("apply", mission_id="mission:42:other"))).ok


@pytest.mark.parametrize("number", [PULL, FIX_PULL])
async def test_rejecting_closes_our_pull_request_and_blocks_its_change(number: int) -> None:
    office = Office()
    put_fix(office)
    reply = await office.say("reject", number=number)
    assert f"#{FIX_PULL} is closed, its branch is deleted" in reply.text
    assert office.github.pulls[FIX_PULL].state == "closed"
    assert FIX_BRANCH not in office.github.branches
    blocked = await office.registry.is_blocked(42, "patch-1")
    assert blocked is not None
    assert blocked.state is FixState.CLOSED
    (feedback,) = office.queue.feedback
    assert (feedback.pull_request, feedback.merged, feedback.fate, feedback.by) == (
        FIX_PULL,
        False,
        "closed",
        "alice",
    )


@pytest.mark.parametrize("taken_over", ["", "bob"])
async def test_a_branch_somebody_pushed_to_is_left_alone(taken_over: str) -> None:
    office = Office()
    put_fix(office, taken_over=taken_over)
    if not taken_over:
        office.github.branches[FIX_BRANCH] = "e" * 40
    assert "its branch stays" in (await office.say("reject")).text
    assert FIX_BRANCH in office.github.branches


@pytest.mark.parametrize("words", ["reject", "undo", "apply", "answer yes"])
async def test_in_an_issue_nothing_is_decided_about_everything(words: str) -> None:
    office = Office()
    put_fix(office)
    put_proposal(office)
    assert not (await office.say(words, is_pull_request=False)).ok
    assert office.github.pulls[FIX_PULL].state == "open"
    assert office.registry.fixes[next(iter(office.registry.fixes))].state is FixState.OPEN
    assert office.registry.proposals[42, "mission:42:old"].decided == ""


async def test_in_an_issue_a_fix_can_be_named() -> None:
    office = Office()
    put_fix(office)
    assert (await office.say(f"undo #{FIX_PULL}", is_pull_request=False)).ok


async def test_a_fix_that_is_no_longer_open_is_not_rejected() -> None:
    office = Office()
    put_fix(office, state=FixState.MERGED)
    assert "nothing to reject" in (await office.say("reject")).text
    assert office.github.branches[FIX_BRANCH] == FIX
