"""Offering a fix: looked up before it is made."""

import pytest

from bot.domain.mission import Outcome
from bot.errors import Conflict
from bot.publish.pull_request import offer_fix
from bot.publish.services import PublishServices
from bot.publish.story import build_story
from tests.builders import HEAD, a_commanded_request, a_mission, a_pull_request, a_request
from tests.fakes.fake_github import FakeGitHub

pytestmark = pytest.mark.anyio


async def test_words_that_changed_are_brought_up_to_date() -> None:
    fake = FakeGitHub()
    fake.branches["main"] = HEAD
    first = await offer_fix(build_story(a_mission()), PublishServices(fake, "metaagent"))
    again = await offer_fix(
        build_story(a_mission()).with_(note="seen in a new light"),
        PublishServices(fake, "metaagent"),
    )
    assert again.pull_request is not None
    assert first.pull_request is not None
    assert again.pull_request.number == first.pull_request.number
    assert "seen in a new light" in fake.pulls[first.pull_request.number].body


async def test_a_closed_pull_request_of_this_mission_is_left_alone() -> None:
    fake = FakeGitHub()
    fake.branches["main"] = HEAD
    first = await offer_fix(build_story(a_mission()), PublishServices(fake, "metaagent"))
    assert first.pull_request is not None
    number = first.pull_request.number
    fake.pulls[number] = fake.pulls[number].with_(state="closed")
    again = await offer_fix(
        build_story(a_mission(reason="other words")), PublishServices(fake, "metaagent")
    )
    assert again.pull_request is not None
    assert again.pull_request.number == number
    assert "other words" not in fake.pulls[number].body


async def test_a_person_may_ask_for_a_fix_that_was_closed_before() -> None:
    fake = FakeGitHub()
    fake.branches["feature/x"] = HEAD
    request = a_commanded_request()
    first = await offer_fix(
        build_story(a_mission(request=request)), PublishServices(fake, "metaagent")
    )
    assert first.pull_request is not None
    number = first.pull_request.number
    fake.pulls[number] = fake.pulls[number].with_(state="closed")
    again = a_mission(mission_id="m-0002", request=request.with_(mission_id="m-0002"))
    offer = await offer_fix(build_story(again), PublishServices(fake, "metaagent"))
    assert offer.outcome is Outcome.FIXED
    assert offer.branch == "metaagent/feature-x/01234567-2"


async def test_a_failing_commit_on_no_known_branch_is_not_pushed() -> None:
    fake = FakeGitHub()
    offer = await offer_fix(
        build_story(a_mission(request=a_request(head_branch=None))),
        PublishServices(fake, "metaagent"),
    )
    assert offer.pull_request is None
    assert "is unknown" in offer.note
    assert fake.calls == []


async def test_when_every_name_is_spent_a_person_is_asked_to_tidy_up() -> None:
    fake = FakeGitHub()
    fake.branches["main"] = HEAD
    for number, suffix in enumerate(("", "-2", "-3", "-4", "-5", f"-{HEAD[:12]}"), start=1):
        fake.pulls[number] = a_pull_request(
            number=number, state="closed", head_ref=f"metaagent/main/01234567{suffix}"
        )
    offer = await offer_fix(build_story(a_mission()), PublishServices(fake, "metaagent"))
    assert "use all names" in offer.note
    assert offer.pull_request is None


async def test_a_conflict_on_opening_finds_the_pull_request_that_is_there() -> None:
    fake = FakeGitHub()
    fake.branches["main"] = HEAD
    fake.after["open_pull_request"] = [Conflict("a pull request already exists", status=422)]
    offer = await offer_fix(build_story(a_mission()), PublishServices(fake, "metaagent"))
    assert offer.pull_request is not None
    assert list(fake.pulls) == [offer.pull_request.number]
