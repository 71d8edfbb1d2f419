"""Our own check run: in line, progress, result."""

import asyncio

import pytest

from bot.domain.diagnosis import Suspect
from bot.domain.mission import Outcome
from bot.domain.policy import RepositoryPolicy, Triggers
from bot.errors import GitHubError
from bot.publish.check_run import (
    CHECK_LIMIT,
    CheckRunProgress,
    actions,
    annotations,
    publish_result,
)
from bot.publish.story import build_story
from tests.builders import (
    HEAD,
    a_diagnosis,
    a_folder_request,
    a_mission,
    a_request,
    a_running_mission,
    a_verification,
    an_iteration,
)
from tests.fakes.fake_github import FakeGitHub

pytestmark = pytest.mark.anyio


class LoopClock:
    """Seconds of the event loop."""

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()

    def now(self) -> None:
        raise NotImplementedError


def progress(fake: FakeGitHub, interval_s: float = 0.05) -> CheckRunProgress:
    return CheckRunProgress(a_request(), fake, LoopClock(), interval_s=interval_s)  # type: ignore[arg-type]


async def titles_until(fake: FakeGitHub, last: str) -> list[str]:
    """Return the titles of all updates, as soon as this one is the last."""
    titles: list[str] = []
    async with asyncio.timeout(120):
        while titles[-1:] != [last]:
            await asyncio.sleep(0.01)
            titles = [update.title for check in fake.checks for update in check.updates]
    return titles


async def test_the_first_stage_is_shown_at_once() -> None:
    fake = FakeGitHub()
    async with progress(fake) as shown:
        await shown.stage(a_running_mission(), "reproduce", "pytest -q")
        await asyncio.sleep(0.01)
        (check,) = fake.checks
        assert check.updates[0].status == "in_progress"
        assert check.updates[0].title == "reproduce pytest -q"
        assert check.updates[0].external_id == "m-0001"


async def test_stages_in_quick_succession_become_one_update_and_the_last_is_not_lost() -> None:
    fake = FakeGitHub()
    async with progress(fake, 2.0) as shown:
        for number in range(20):
            await shown.stage(a_running_mission(), f"stage {number}")
        titles = await titles_until(fake, "stage 19")
        assert len(titles) <= 2
        assert titles[-1] == "stage 19"
        assert "stage 3" in fake.checks[0].updates[-1].summary


async def test_no_update_comes_after_closing() -> None:
    fake, before = FakeGitHub(), asyncio.all_tasks()
    async with progress(fake, 60.0) as shown:
        await shown.stage(a_running_mission(), "one")
        await titles_until(fake, "one")
        await shown.stage(a_running_mission(), "two")
    assert [update.title for update in fake.checks[0].updates] == ["one"]
    assert asyncio.all_tasks() == before, "an update is still planned"


async def test_a_broken_github_does_not_break_a_mission() -> None:
    fake = FakeGitHub()
    fake.faults["publish_check"] = [GitHubError("down", status=502), OSError("gone")]
    async with progress(fake, 0.01) as shown:
        for name in ("one", "two", "three"):
            await shown.stage(a_running_mission(), name)
            await asyncio.sleep(0.03)
        await titles_until(fake, "three")


async def test_a_mission_without_a_commit_shows_nothing() -> None:
    fake = FakeGitHub()
    shown = CheckRunProgress(a_folder_request(), fake, LoopClock(), interval_s=0.0)  # type: ignore[arg-type]
    await shown.stage(a_running_mission(), "one")
    await shown.close()
    assert await publish_result(build_story(a_mission(request=a_folder_request())), fake) is None
    assert fake.checks == []


async def test_progress_and_result_are_one_check_run() -> None:
    fake = FakeGitHub()
    async with progress(fake) as shown:
        await shown.stage(a_running_mission(), "one")
        await asyncio.sleep(0.01)
    await publish_result(build_story(a_mission(Outcome.FLAKY)), fake)
    (check,) = fake.checks
    assert check.sha == HEAD
    assert [update.status for update in check.updates] == ["in_progress", "completed"]
    assert check.updates[-1].details_url is None


async def test_a_flood_fits_into_a_check_run() -> None:
    fake = FakeGitHub()
    iteration = an_iteration(verification=a_verification(diff="+x\n" * 100_000))
    await publish_result(build_story(a_mission(iterations=(iteration,))), fake)
    assert len(fake.checks[0].updates[-1].text) <= CHECK_LIMIT


async def test_annotations_stand_at_lines_of_the_checkout_only() -> None:
    suspects = (
        Suspect(file="/etc/passwd", line=1, score=0.9, reason="outside"),
        Suspect(file="a.py", line=0, score=0.9, reason="no line"),
        *(Suspect(file="a.py", line=n, score=0.5, reason="@alice see #1") for n in range(1, 30)),
    )
    found = annotations(
        build_story(a_mission(iterations=(an_iteration(diagnosis=a_diagnosis(suspects=suspects)),)))
    )
    assert [(a.path, a.line) for a in found] == [("a.py", n) for n in range(1, 11)]
    assert found[0].message == "@ alice see # 1"


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        (Outcome.FLAKY, ["rerun", "fix", "off"]),
        (Outcome.INFRA, ["rerun", "fix", "off"]),
        (Outcome.NO_FIX, ["fix", "off"]),
        (Outcome.STALE, ["off"]),
        (Outcome.DUPLICATE, ["off"]),
    ],
)
def test_the_buttons_are_those_that_help_after_this_outcome(
    outcome: Outcome, expected: list[str]
) -> None:
    assert [action.identifier for action in actions(build_story(a_mission(outcome)))] == expected


def test_a_change_that_is_only_shown_can_be_had_by_a_button_and_one_of_several_cannot() -> None:
    story = build_story(a_mission(Outcome.PARTIAL))
    assert actions(story.with_(choices=("one",)))[0].identifier == "apply"
    assert actions(story.with_(choices=("one", "two")))[0].identifier == "fix"
    assert [action.identifier for action in actions(story.with_(delivered="Pull request: x"))] == [
        "off"
    ]


def test_a_policy_without_buttons_has_none() -> None:
    policy = RepositoryPolicy(triggers=Triggers(buttons=False))
    assert actions(build_story(a_mission(Outcome.FLAKY, policy=policy))) == ()
