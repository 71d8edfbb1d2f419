"""Who is answered, and where."""

import pytest

from bot.domain.mission import Outcome
from bot.publish.comment import reply, where_to_answer
from bot.publish.story import Story, build_story
from sandbox.types import TrustTier
from tests.builders import a_commanded_request, a_folder_request, a_mission, a_request
from tests.fakes.fake_github import FakeGitHub


def story(outcome: Outcome, **request: object) -> Story:
    return build_story(a_mission(outcome, request=a_request(**request)))


@pytest.mark.parametrize("outcome", list(Outcome))
def test_whoever_commanded_is_always_answered(outcome: Outcome) -> None:
    assert where_to_answer(build_story(a_mission(outcome, request=a_commanded_request()))) == 5


@pytest.mark.parametrize("outcome", [o for o in Outcome if o is not Outcome.NEEDS_HUMAN])
def test_unasked_we_keep_quiet(outcome: Outcome) -> None:
    assert where_to_answer(story(outcome, pull_request=5)) is None


def test_a_question_and_a_patch_for_a_fork_are_worth_a_comment() -> None:
    assert where_to_answer(story(Outcome.NEEDS_HUMAN, pull_request=5)) == 5
    assert where_to_answer(story(Outcome.FIXED, pull_request=5, tier=TrustTier.FORK)) == 5
    assert where_to_answer(story(Outcome.NO_FIX, pull_request=5, tier=TrustTier.FORK)) is None
    assert where_to_answer(story(Outcome.NEEDS_HUMAN)) is None


@pytest.mark.anyio
async def test_the_answer_is_one_comment_that_is_updated() -> None:
    fake = FakeGitHub()
    first = await reply(build_story(a_mission(Outcome.NO_FIX, request=a_commanded_request())), fake)
    second = await reply(build_story(a_mission(Outcome.FLAKY, request=a_commanded_request())), fake)
    assert first == second
    assert [comment.body.split(":")[0] for comment in fake.comments] == ["**FLAKY"]


@pytest.mark.anyio
async def test_there_is_nobody_to_answer_at_a_terminal() -> None:
    assert await reply(build_story(a_mission(request=a_folder_request())), FakeGitHub()) is None
