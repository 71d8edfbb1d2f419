"""Who may lead to something written by a step of a workflow: a table of people and events."""

import pytest

from bot.action.event import ActionEvent
from bot.action.inputs import ActionInputs
from bot.action.rights import why_nothing_is_written
from bot.errors import NotPermitted
from tests.builders import HEAD, a_repository
from tests.fakes.fake_github import FakeGitHub

pytestmark = pytest.mark.anyio


def event(name: str = "pull_request", **more: object) -> ActionEvent:
    return ActionEvent(
        name=name,
        repository=a_repository(),
        head_sha=HEAD,
        head_branch="main",
        **more,  # type: ignore[arg-type]
    )


def github() -> FakeGitHub:
    fake = FakeGitHub()
    fake.permissions = {"root": "admin", "ann": "write", "mallory": "read"}
    return fake


@pytest.mark.parametrize(
    ("login", "given", "name", "fork", "may"),
    [
        ("root", {}, "pull_request", False, True),
        ("ann", {}, "pull_request", False, True),
        ("mallory", {}, "pull_request", False, False),
        ("nobody", {}, "workflow_run", False, False),
        ("mallory", {"allow_users": ("mallory",)}, "workflow_run", False, True),
        ("mallory", {"allow_users": ("*",)}, "workflow_run", True, True),
        ("mallory", {}, "workflow_run", True, False),
        # Only who can push here can set these off.
        ("nobody", {}, "push", False, True),
        ("nobody", {}, "workflow_dispatch", False, True),
        ("nobody", {}, "schedule", False, True),
        ("nobody", {}, "repository_dispatch", False, False),
        ("renovate[bot]", {}, "push", False, False),
        ("renovate[bot]", {"allow_bots": True}, "push", False, True),
        # The token of a fork's pull request cannot write, whoever asks.
        ("root", {}, "pull_request", True, False),
    ],
)
async def test_who_may_write_is_decided_by_rights_and_lists(
    login: str, given: dict[str, object], name: str, *, fork: bool, may: bool
) -> None:
    asked = event(name, actors=(login,), from_fork=fork)
    why = await why_nothing_is_written(ActionInputs(**given), asked, github())  # type: ignore[arg-type]
    assert (why is None) is may, why


async def test_everybody_who_set_it_off_must_be_allowed() -> None:
    why = await why_nothing_is_written(ActionInputs(), event(actors=("ann", "mallory")), github())
    assert why is not None
    assert "mallory" in why


async def test_a_report_was_asked_for_and_needs_no_excuse() -> None:
    assert await why_nothing_is_written(ActionInputs(mode="report"), event(), github()) == ""


async def test_a_missing_token_says_so() -> None:
    assert "the token or the commit is missing" in (
        await why_nothing_is_written(ActionInputs(), event(), None) or ""
    )


async def test_nobody_may_when_github_does_not_say_who_may() -> None:
    fake = github()
    fake.faults["permission"] = [NotPermitted("no")]
    assert await why_nothing_is_written(ActionInputs(), event(actors=("ann",)), fake) is not None
