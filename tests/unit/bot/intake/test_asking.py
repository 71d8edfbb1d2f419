"""Comments, review comments, buttons and labels as commands, and the reasons why some are none."""

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest

from bot.domain.command import Command, Origin, Verb
from bot.domain.github import POLICY_CHECK_NAME
from bot.domain.request import Ignored
from bot.errors import DeliveryRejected
from bot.github.events import read_delivery
from bot.intake.identity import OwnApp
from bot.intake.on_button import on_button
from bot.intake.on_comment import on_comment, on_review_comment
from bot.intake.on_label import on_label
from tests.unit.bot.intake import payloads

OWN = OwnApp(app_id=payloads.APP_ID, slug="metaagent")
HANDLERS = {
    "issue_comment": on_comment,
    "pull_request_review_comment": on_review_comment,
    "check_run": on_button,
    "pull_request": on_label,
}


def asked(event: str, payload: dict[str, Any], delivery: str = "d-1") -> Command | Ignored:
    return HANDLERS[event](read_delivery(event, delivery, payloads.encoded(payload)), OWN)


def command(event: str, payload: dict[str, Any], delivery: str = "d-1") -> Command:
    value = asked(event, payload, delivery)
    assert isinstance(value, Command), value
    return value


def why_not(event: str, payload: dict[str, Any]) -> str:
    value = asked(event, payload)
    assert isinstance(value, Ignored), value
    return value.reason


def event_of(action: str, **content: Any) -> dict[str, Any]:
    base = {"action": action, "repository": payloads.REPOSITORY, "installation": {"id": 7}}
    return base | {"sender": {"login": "maintainer", "type": "User"}} | content


def review_comment(body: str, **changes: Any) -> dict[str, Any]:
    said = {
        "id": 88,
        "body": body,
        "user": {"login": "maintainer", "type": "User"},
        "path": "a.py",
        "line": 3,
    }
    pull = payloads.closed_pull_request(number=3)["pull_request"] | {
        "head": {"ref": "feature", "sha": payloads.HEAD, "repo": {"id": 42}}
    }
    return event_of("created", comment=said | changes, pull_request=pull)


def pressed(identifier: str | None = "fix", **changes: Any) -> dict[str, Any]:
    ours = {"id": payloads.APP_ID, "slug": "metaagent"}
    payload = payloads.check_run(
        **{"app": ours, "external_id": "mission:42:x", "conclusion": "neutral"} | changes
    )
    if identifier is None:
        return payload | {"action": "rerequested"}
    return payload | {"action": "requested_action", "requested_action": {"identifier": identifier}}


def test_a_rerun_of_the_policy_check_is_no_command() -> None:
    assert "policy" in why_not("check_run", pressed(None, name=POLICY_CHECK_NAME))


def labeled(name: str, **changes: Any) -> dict[str, Any]:
    pull = payloads.closed_pull_request(number=3)["pull_request"] | {
        "head": {"ref": "feature", "sha": payloads.HEAD, "repo": None}
    }
    return event_of("labeled", pull_request=pull, label={"name": name}) | changes


def test_a_comment_is_a_command_of_its_author() -> None:
    asked_for = command("issue_comment", payloads.comment("/metaagent fix tests --rungs=0"))
    assert asked_for.command_id == "command:42:c77"
    assert (asked_for.verb, asked_for.target, asked_for.options) == (
        Verb.FIX,
        "tests",
        {"rungs": "0"},
    )
    assert (asked_for.author, asked_for.number, asked_for.is_pull_request) == (
        "maintainer",
        3,
        True,
    )
    assert asked_for.comment is not None
    assert not asked_for.comment.in_review


def test_a_comment_on_an_issue_is_one_too() -> None:
    assert not command(
        "issue_comment", payloads.comment("/metaagent status", pull_request=None)
    ).is_pull_request


def test_the_same_comment_asks_once_whichever_delivery_brings_it() -> None:
    payload = payloads.comment("/metaagent fix")
    assert (
        len({command("issue_comment", payload, delivery).command_id for delivery in ("d-1", "d-2")})
        == 1
    )


def test_an_unknown_word_is_a_command_that_is_answered_with_help() -> None:
    asked_for = command("issue_comment", payloads.comment("/metaagent dance"))
    assert (asked_for.verb, asked_for.word) == (None, "dance")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"type": "Bot"}, "bot"),
        ({"login": "metaagent[bot]"}, "bot"),
        ({"login": "x[bot]", "type": None}, "bot"),
    ],
)
def test_bots_command_nothing(changes: dict[str, Any], reason: str) -> None:
    assert reason in why_not("issue_comment", payloads.comment("/metaagent fix", **changes))


def test_a_comment_whose_author_is_gone_commands_nothing() -> None:
    payload = payloads.comment("/metaagent fix")
    payload["comment"]["user"] = None
    assert "bot" in why_not("issue_comment", payload)


def test_a_review_comment_keeps_its_line() -> None:
    asked_for = command("pull_request_review_comment", review_comment("/metaagent explain"))
    assert asked_for.comment is not None
    assert (asked_for.comment.in_review, asked_for.comment.id) == (True, 88)
    assert (asked_for.path, asked_for.line, asked_for.head_sha) == ("a.py", 3, payloads.HEAD)


def test_a_review_comment_and_a_comment_of_the_same_number_are_two_commands() -> None:
    one = command("pull_request_review_comment", review_comment("/metaagent fix", id=77))
    two = command("issue_comment", payloads.comment("/metaagent fix"))
    assert one.command_id != two.command_id


@pytest.mark.parametrize("verb", [Verb.FIX, Verb.RERUN, Verb.OFF])
def test_a_button_is_a_command_of_whoever_pressed_it(verb: Verb) -> None:
    asked_for = command(
        "check_run", pressed(verb.value, pull_requests=[payloads.pull_request_link()])
    )
    assert (asked_for.verb, asked_for.origin, asked_for.number) == (verb, Origin.BUTTON, 3)
    assert (asked_for.mission_id, asked_for.check_run, asked_for.head_sha) == (
        "mission:42:x",
        99,
        payloads.HEAD,
    )


def test_a_button_pressed_twice_asks_twice_and_a_redelivery_does_not() -> None:
    ids = [
        command("check_run", pressed(), delivery).command_id for delivery in ("d-1", "d-2", "d-2")
    ]
    assert len(set(ids)) == 2


def test_running_our_check_again_is_another_try() -> None:
    assert command("check_run", pressed(None)).verb is Verb.RETRY


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        (pressed("explode"), "button"),
        (pressed("FIX"), "button"),
        (pressed(app={"id": 1, "slug": "other"}), "another App's"),
        (pressed() | {"sender": {"login": "ci[bot]", "type": "Bot"}}, "bot"),
        (pressed() | {"sender": None}, "bot"),
    ],
)
def test_other_presses_are_ignored_with_a_reason(payload: dict[str, Any], reason: str) -> None:
    assert reason in why_not("check_run", payload)


def test_a_button_knows_no_pull_request_of_another_repository() -> None:
    elsewhere = payloads.pull_request_link(number=9, head_repository=42, base_repository=43)
    assert command("check_run", pressed(pull_requests=[elsewhere])).number is None


@pytest.mark.parametrize(
    ("label", "verb"), [("metaagent:fix", Verb.FIX), ("MetaAgent:Off", Verb.OFF)]
)
def test_a_label_is_a_command_of_whoever_put_it_there(label: str, verb: Verb) -> None:
    asked_for = command("pull_request", labeled(label))
    assert (asked_for.verb, asked_for.origin, asked_for.number, asked_for.author) == (
        verb,
        Origin.LABEL,
        3,
        "maintainer",
    )


@pytest.mark.parametrize(
    "label", ["bug", "metaagent:needs-human", "metaagent:test-change", "metaagent", ""]
)
def test_other_labels_are_ignored(label: str) -> None:
    assert "label" in why_not("pull_request", labeled(label))


def test_a_label_put_there_by_a_bot_is_ignored() -> None:
    assert "bot" in why_not(
        "pull_request", labeled("metaagent:fix", sender={"login": "metaagent[bot]", "type": "Bot"})
    )


@pytest.mark.shared
def test_every_recorded_payload_of_these_events_is_a_command_or_a_typed_reason(
    shared: Path,
) -> None:
    for path, event in payloads.recorded(shared):
        if event not in HANDLERS:
            continue
        body = json.loads(path.read_text())
        content = body.get("payload", body) if isinstance(body, dict) else {}
        with contextlib.suppress(DeliveryRejected):
            assert isinstance(asked(event, content), Command | Ignored), path
