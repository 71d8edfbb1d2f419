"""What each event comes down to."""

from typing import Any

import pytest

from bot.domain.request import Feedback, Ignored, MissionRequest, Trigger
from bot.github.events import read_delivery
from bot.intake.identity import OwnApp
from bot.intake.router import HANDLERS, route
from sandbox.types import TrustTier
from tests.unit.bot.intake import payloads

OWN = OwnApp(app_id=payloads.APP_ID, slug="metaagent")


def routed(payload: dict[str, Any], event: str) -> Any:
    return route(read_delivery(event, "d-1", payloads.encoded(payload)), OWN)


def why_not(payload: dict[str, Any], event: str) -> str:
    decision = routed(payload, event)
    assert isinstance(decision, Ignored), decision
    return decision.reason


def test_a_red_check_on_a_branch_becomes_a_mission() -> None:
    request = routed(payloads.check_run(pull_requests=[payloads.pull_request_link()]), "check_run")
    assert isinstance(request, MissionRequest)
    assert request.mission_id == f"mission:42:{payloads.HEAD}:auto"
    assert request.trigger is Trigger.CHECK_RUN
    assert request.pull_request == 3
    assert request.tier is TrustTier.BRANCH
    assert request.check is not None
    assert request.check.is_actions_job
    assert request.repository is not None
    assert request.repository.full_name == "octo/calculator"
    assert request.repository.installation_id == 7


def test_all_red_checks_of_a_commit_ask_for_one_mission() -> None:
    first = routed(payloads.check_run(id=1, name="tests"), "check_run")
    second = routed(payloads.check_run(id=2, name="lint"), "check_run")
    assert first.mission_id == second.mission_id


def test_a_push_to_the_default_branch_has_its_own_tier() -> None:
    assert routed(payloads.check_run(branch="main"), "check_run").tier is TrustTier.DEFAULT_BRANCH


@pytest.mark.parametrize("conclusion", ["success", "neutral", "cancelled", "skipped", "action_required", "stale", None])
def test_only_red_conclusions_count(conclusion: str | None) -> None:
    assert "conclusion" in why_not(payloads.check_run(conclusion=conclusion), "check_run")


def test_a_timed_out_check_counts_as_red() -> None:
    assert isinstance(routed(payloads.check_run(conclusion="timed_out"), "check_run"), MissionRequest)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"app": {"id": payloads.APP_ID, "slug": "metaagent"}}, "our own check"),
        ({"app": {"id": 9, "slug": "codecov"}}, "not tests"),
        ({"branch": "metaagent/feature/01234567"}, "our own branch"),
        ({"branch": "dependabot/pip/x-1"}, "Dependabot"),
        ({"branch": "renovate/x"}, "Renovate"),
        ({"branch": None}, "fork"),
        ({"pull_requests": [payloads.pull_request_link(head_repository=43)]}, "fork"),
    ],
)
def test_checks_that_are_not_ours_to_repair_are_ignored_with_the_reason(changes: dict[str, Any], reason: str) -> None:
    assert reason in why_not(payloads.check_run(**changes), "check_run")


def test_pull_requests_of_other_repositories_are_not_looked_at() -> None:
    elsewhere = payloads.pull_request_link(number=9, head_repository=42, base_repository=43)
    request = routed(payloads.check_run(pull_requests=[elsewhere]), "check_run")
    assert isinstance(request, MissionRequest)
    assert request.pull_request is None


def test_a_pull_request_whose_head_has_moved_is_not_taken_for_this_commit() -> None:
    link = payloads.pull_request_link()
    link["head"]["sha"] = "c" * 40
    assert routed(payloads.check_run(pull_requests=[link]), "check_run").pull_request is None


def test_a_check_whose_pull_requests_are_null_is_understood() -> None:
    assert isinstance(routed(payloads.check_run(pull_requests=None), "check_run"), MissionRequest)


@pytest.mark.parametrize(
    "body",
    [
        "/metaagent fix",
        "/metaagent fix\r\n",
        "/metaagent  fix please",
        "Please look\r\n/metaagent fix tests/test_a.py\r\nthanks",
        "/metaagent FIX",
        "```\ncode\n```\n/metaagent fix",
        "\ufeff/metaagent fix",
    ],
)
def test_a_command_on_a_line_of_its_own_asks_for_a_mission(body: str) -> None:
    request = routed(payloads.comment(body), "issue_comment")
    assert isinstance(request, MissionRequest)
    assert request.mission_id == "mission:42:pr3:c77"
    assert request.comment is not None
    assert request.comment.author == "maintainer"
    assert request.head_sha is None


@pytest.mark.parametrize(
    "body",
    [
        "",
        "hello",
        "> /metaagent fix",
        "```\n/metaagent fix\n```",
        "~~~\n/metaagent fix\n```\n/metaagent fix",
        "````\n```\n/metaagent fix\n````",
        "    /metaagent fix",
        "please run /metaagent fix",
        "/metaagents fix",
        "//metaagent fix",
    ],
)
def test_quotes_code_and_prose_never_command(body: str) -> None:
    assert why_not(payloads.comment(body), "issue_comment") == "the comment gives no command"


@pytest.mark.parametrize(
    "body", ["/metaagent", "/metaagent fixture", "/metaagent dance", "/metaagent help", "/metaagent stop"]
)
def test_other_words_are_ignored_with_a_reason(body: str) -> None:
    assert "command" in why_not(payloads.comment(body), "issue_comment") or "answered" in why_not(
        payloads.comment(body), "issue_comment"
    )


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"type": "Bot"}, "bot"),
        ({"login": "metaagent[bot]"}, "bot"),
        ({"pull_request": None}, "pull requests only"),
        ({"state": "closed"}, "closed"),
    ],
)
def test_commands_from_the_wrong_place_are_ignored(changes: dict[str, Any], reason: str) -> None:
    assert reason in why_not(payloads.comment("/metaagent fix", **changes), "issue_comment")


@pytest.mark.parametrize("action", ["edited", "deleted"])
def test_an_edited_comment_never_commands(action: str) -> None:
    assert "nothing is done" in why_not({**payloads.comment("/metaagent fix"), "action": action}, "issue_comment")


@pytest.mark.parametrize("merged", [True, False])
def test_the_end_of_our_pull_request_is_feedback(*, merged: bool) -> None:
    feedback = routed(payloads.closed_pull_request(merged=merged), "pull_request")
    assert isinstance(feedback, Feedback)
    assert feedback.merged is merged
    assert feedback.pull_request == 8


@pytest.mark.parametrize(
    "changes",
    [
        {"head": {"ref": "feature", "sha": payloads.HEAD, "repo": {"id": 42}}},
        {"head": {"ref": "metaagent/x/1", "sha": payloads.HEAD, "repo": {"id": 43}}},
        {"head": {"ref": "metaagent/x/1", "sha": payloads.HEAD, "repo": None}},
        {"user": {"login": "stranger", "type": "User"}},
    ],
)
def test_pull_requests_of_others_are_no_feedback(changes: dict[str, Any]) -> None:
    assert why_not(payloads.closed_pull_request(**changes), "pull_request")


@pytest.mark.parametrize("action", ["created", "deleted", "suspend", "unsuspend"])
def test_an_installation_is_noted(action: str) -> None:
    payload = {"action": action, "installation": {"id": 7, "account": {"login": "octo"}}}
    assert "octo" in why_not(payload, "installation")


def test_an_unknown_action_of_a_known_event_is_no_error() -> None:
    assert "check_run.invented" in why_not({**payloads.check_run(), "action": "invented"}, "check_run")


def test_an_event_without_an_action_is_no_error() -> None:
    assert "push" in why_not({"ref": "refs/heads/main"}, "push")


def test_every_handler_is_named_for_its_event() -> None:
    assert {handler.__name__ for handler in HANDLERS.values()} == {
        "on_check_run",
        "on_comment",
        "on_pull_request",
        "on_installation",
    }
