"""The commit with a regression test follows the fix, once, and stops nothing if it is refused."""

import pytest

from bot.domain.patch import PinnedTest
from bot.errors import GitHubError, NotPermitted
from bot.publish.pull_request import offer_fix
from bot.publish.services import PublishServices
from bot.publish.story import Story, build_story
from tests.builders import HEAD, a_mission
from tests.fakes.fake_github import FakeGitHub

pytestmark = pytest.mark.anyio
TEST = PinnedTest(
    name="tests/test_math.py::test_add_regression",
    path="tests/test_math.py",
    content="def test_add_regression():\n    assert add(2, 3) == 5\n",
    call="add(2, 3)",
    result="5",
)


def a_story(test: PinnedTest | None = TEST) -> Story:
    return build_story(a_mission(regression_test=test))


def a_github() -> FakeGitHub:
    fake = FakeGitHub()
    fake.branches["main"] = HEAD
    return fake


async def test_the_test_is_a_second_commit_and_is_explained() -> None:
    fake = a_github()
    offer = await offer_fix(a_story(), PublishServices(fake, "metaagent"))
    assert offer.commit == fake.branches[offer.branch or ""]
    commit = fake.commits[offer.commit or ""]
    (fix,) = commit.parents
    assert fake.commits[fix].parents == (HEAD,)
    assert commit.message.startswith("Add test_add_regression\n")
    (edit,) = fake.edits[commit.sha]
    assert (edit.path, edit.content.decode()) == (TEST.path, TEST.content)
    assert offer.pull_request is not None
    body = fake.pulls[offer.pull_request.number].body
    assert "`tests/test_math.py::test_add_regression`. It expects `5` from `add(2, 3)`" in body


async def test_publishing_again_adds_it_once_also_after_an_interruption() -> None:
    fake = a_github()
    fake.faults["commit_on_branch"] = [GitHubError("away", retryable=True)]
    with pytest.raises(GitHubError):
        await offer_fix(a_story(), PublishServices(fake, "metaagent"))
    first = await offer_fix(a_story(), PublishServices(fake, "metaagent"))
    again = await offer_fix(a_story(), PublishServices(fake, "metaagent"))
    assert first.commit == again.commit
    assert len(fake.commits[first.commit or ""].parents) == 1
    assert fake.calls.count("commit_on_branch") == 2


async def test_a_refused_test_leaves_the_fix() -> None:
    fake = a_github()
    fake.faults["commit_on_branch"] = [NotPermitted("no", status=403)]
    offer = await offer_fix(a_story(), PublishServices(fake, "metaagent"))
    assert offer.pull_request is not None
    assert fake.commits[offer.commit or ""].parents == (HEAD,)


async def test_without_a_test_there_is_one_commit() -> None:
    fake = a_github()
    offer = await offer_fix(a_story(None), PublishServices(fake, "metaagent"))
    assert fake.commits[offer.commit or ""].parents == (HEAD,)
    assert offer.pull_request is not None
    assert "Regression test" not in fake.pulls[offer.pull_request.number].body
