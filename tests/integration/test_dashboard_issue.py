"""The dashboard issue of a repository, kept by the whole service as a process, on a (local) GitHub."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.demo.bot_process import BotProcess
from tests.github_server.entities import Issue
from tests.github_server.fixtures import app_key, local_github
from tests.github_server.server import LocalGitHub
from tests.github_server.waiting import Waiter, wait_until
from tests.patience import HANG_S

__all__ = ["app_key", "local_github"]

pytestmark = [pytest.mark.shared, pytest.mark.slow]
NAME = "octo/calculator"
POLICY = ".github/metaagent.yml"
TURN_OFF, TURN_ON = "**Turn off** MetaAgent here", "**Turn on** MetaAgent here"


@pytest.fixture
def service(local_github: LocalGitHub, tmp_path: Path) -> Iterator[BotProcess]:
    more = {
        "METAAGENT_DASHBOARD__ISSUE_EVERY_S": "0.5",
        "METAAGENT_ONBOARD_REPOSITORIES": "1",
        "METAAGENT_WRITE_PAUSE_S": "0",
    }
    with BotProcess(local_github, tmp_path / "data", more) as process:
        yield process


def until(condition: Waiter) -> None:
    assert wait_until(condition, HANG_S)


def ours(local_github: LocalGitHub) -> list[Issue]:
    """Issues of our App."""
    bot = f"{local_github.app_slug}[bot]"
    return [one for one in local_github.issues(NAME) if one.user == bot]


def says(issue: Issue, words: str) -> bool:
    return words in (issue.body or "")


def test_a_dashboard_is_kept_and_its_boxes_act_for_people_who_may_write(
    service: BotProcess, local_github: LocalGitHub
) -> None:
    local_github.create_repository("octo", "calculator", {"calculator.py": "x = 1\n"})
    local_github.set_permission(NAME, "writer", "write")
    local_github.install("octo")
    until(lambda: len(local_github.pull_requests(NAME)) == 1)
    (onboarding,) = local_github.pull_requests(NAME)
    assert onboarding.title == "Configure MetaAgent"
    assert says(onboarding, "No check is red now")

    local_github.set_permission(NAME, "triager", "triage")
    granted = local_github.world.install("octo").permissions
    local_github.set_app_permissions("octo", {**granted, "issues": "write"})
    local_github.push(NAME, "main", {POLICY: "dashboard_issue: true\n"})
    until(lambda: len(ours(local_github)) == 1)
    (board,) = ours(local_github)
    assert says(board, TURN_OFF)
    assert not says(board, "[x]")

    # A tick of a person without write access is taken back, and does nothing.
    local_github.tick(NAME, board.number, "triager", TURN_OFF)
    until(lambda: not says(board, "[x]"))
    assert says(board, TURN_OFF)
    assert local_github.comments(NAME, board.number) == []

    # Words that are not ours do nothing either, whoever ticks them.
    local_github.edit_issue(
        NAME, board.number, "triager", (board.body or "").replace(TURN_OFF, "Show the flakes")
    )
    local_github.tick(NAME, board.number, "writer", "Show the flakes")
    until(lambda: len(local_github.comments(NAME, board.number)) == 1)
    assert "changed meanwhile" in local_github.comments(NAME, board.number)[0].body
    until(lambda: says(board, TURN_OFF) and not says(board, "[x]"))

    local_github.tick(NAME, board.number, "writer", TURN_OFF)
    until(lambda: says(board, TURN_ON))
    assert says(board, "turned off by `writer`")
    until(lambda: len(local_github.comments(NAME, board.number)) == 2)
    assert "Off for this repository" in local_github.comments(NAME, board.number)[1].body

    # Closed by a person, it is left alone until the policy is turned off and on.
    local_github.set_issue_state(NAME, board.number, "closed", "writer")
    local_github.push(NAME, "main", {POLICY: "dashboard_issue: false\n"})
    until(lambda: says(board, "turned the dashboard off"))
    local_github.push(NAME, "main", {POLICY: "dashboard_issue: true\n"})
    until(lambda: board.state == "open" and says(board, TURN_ON))

    local_github.delete_issue(NAME, board.number)
    local_github.push(NAME, "main", {POLICY: "dashboard_issue: true # again\n"})
    until(lambda: len(ours(local_github)) == 1)
    (again,) = ours(local_github)
    assert again.number > board.number
    assert says(again, TURN_ON)
