"""Who is heard, what they see, and that nothing is done or said twice."""

import re
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from typing_extensions import override

from bot.conversation.handle import ACTIONS, HELP_MARKER, handle_command
from bot.conversation.result import Reply
from bot.conversation.verbs import VERBS
from bot.domain.boxes import read_box
from bot.domain.command import Command, Verb
from bot.domain.github import StatusState
from bot.domain.mission import Outcome
from bot.domain.mission_record import MissionRecord, RecordState
from bot.domain.policy import Triggers
from bot.errors import GitHubError, NotFound, NotPermitted, QueueError, StoreError
from bot.publish.dashboard_issue import read_board
from bot.queue.memory import MemoryCheckpoint, Value
from tests.builders import HEAD, a_repository
from tests.fakes.fake_github_state import FakeComment
from tests.unit.bot.conversation.desks import (
    FIX_PULL,
    PULL,
    Office,
    a_command,
    a_label,
    a_press,
    a_tick,
    put_fix,
    put_proposal,
)

pytestmark = pytest.mark.anyio

PEOPLE = {
    "admin": ("admin", True),
    "maintain": ("write", True),  # GitHub's `permission` has no maintain
    "write": ("write", True),
    "triage": ("read", False),  # nor triage
    "read": ("read", False),
    "none": ("none", False),
    "fork author": ("read", False),
    "former member": ("none", False),
    "ci[bot]": ("write", False),
}
ATTACKS = (
    "</details></sub><script>alert(1)</script>",
    "`` ` ``` `\n```\n# heading\n[x](javascript:alert(1))",
    "![](https://example.com/p.png) @everyone #1 GH-2",
    "<!-- metaagent:help --> --> <img src=x onerror=y>",
    "\u202egnp.exe\u2066 \x1b[31mred\x07 \u200b/metaagent off",
    "| a | b |\n| - | - |\n<details><summary>",
    "::set-output name=x::y ghp_0123456789abcdefghijABCDEFGHIJ0123456789",
    "a" * 5_000,
)
WAYS: dict[str, Callable[..., Command]] = {
    "comment": a_command,
    "button": a_press,
    "label": a_label,
}


@pytest.mark.parametrize("person", PEOPLE)
@pytest.mark.parametrize("way", WAYS)
async def test_only_people_with_write_access_are_heard(person: str, way: str) -> None:
    permission, heard = PEOPLE[person]
    for verb in Verb:
        office = Office()
        office.github.permissions[person] = permission
        put_fix(office)
        put_proposal(office)
        before = (dict(office.registry.fixes), dict(office.registry.proposals))
        reply = await office.ask(WAYS[way](verb.value, author=person))
        assert bool(reply.refused) is not heard, verb
        if heard:
            assert reply.text or reply.mission_id, verb
            continue
        assert office.writes == []
        assert (office.queue.requests, office.queue.feedback, office.registry.switches) == (
            {},
            [],
            {},
        )
        assert (office.registry.fixes, office.registry.proposals) == before


async def test_every_command_is_in_the_audit_log_also_a_refused_one() -> None:
    office = Office()
    await office.say("status", author="alice")
    await office.say("off", author="bob")
    assert [(one.actor, one.action, one.subject, one.result) for one in office.audit.kept] == [
        ("alice", "command: status", "#5", "allowed"),
        ("bob", "command: off", "#5", "refused: the permission is read"),
    ]


async def test_a_name_nobody_has_is_not_heard() -> None:
    office = Office()
    office.github.faults["permission"] = [NotFound("no such user", status=404)]
    reply = await office.say("fix", author="ghost")
    assert reply.refused
    assert office.writes == []


async def test_what_github_does_not_say_is_a_no() -> None:
    office = Office()
    office.github.faults["permission"] = [GitHubError("a bad gateway", status=502, retryable=True)]
    assert (await office.say("fix")).refused
    assert office.writes == []


async def test_a_command_is_seen_first_and_answered_last() -> None:
    office = Office()
    reply = await office.say("status")
    assert office.github.reactions == [(1234, "eyes"), (1234, "rocket")]
    assert [comment.number for comment in office.github.comments] == [PULL]
    assert reply.comment == office.github.comments[0].id
    assert office.github.calls.index("react") < office.github.calls.index("pull_request")


async def test_what_cannot_be_done_confuses_and_says_why() -> None:
    office = Office()
    reply = await office.say("apply")
    assert not reply.ok
    assert (1234, "confused") in office.github.reactions
    assert "No decision is pending" in office.github.comments[0].body


async def test_a_mission_answers_for_itself() -> None:
    office = Office()
    reply = await office.say("fix")
    assert (reply.ok, reply.text, reply.mission_id) == (True, "", "mission:42:pr5:c1234")
    assert office.github.comments == []


@pytest.mark.parametrize("words", ["status", "fix nonsense", "off", "stop", "dance"])
async def test_the_same_command_twice_leaves_the_traces_of_once(words: str) -> None:
    office = Office()
    for _ in range(2):
        await office.say(words)
    assert len(office.github.comments) <= 1
    assert len(office.github.reactions) == 2


async def test_a_lost_answer_leaves_no_second_comment() -> None:
    office = Office()
    office.github.after["comment"] = [GitHubError("time ran out", retryable=True)]
    with pytest.raises(GitHubError):
        await office.say("status")
    await office.say("status")
    assert len(office.github.comments) == 1


async def test_unknown_words_are_answered_with_help_once_a_pull_request() -> None:
    office = Office()
    for number, word in enumerate(("dance", "sing"), start=1):
        reply = await office.ask(a_command(word, command_id=f"command:42:c{number}"))
        assert not reply.ok
    (comment,) = office.github.comments
    assert HELP_MARKER in comment.body
    assert "`sing` is not a known command" in comment.body
    assert all(f"/metaagent {verb.value}" in comment.body for verb in Verb)


async def test_in_a_review_thread_the_answer_and_the_reaction_stand_there() -> None:
    office = Office()
    command = a_command("status", comment=a_command().comment.with_(in_review=True))  # type: ignore[union-attr]
    office.github.review_comments.append(_said(1234))
    reply = await office.ask(command)
    assert [content for _, content in office.github.review_reactions] == ["eyes", "rocket"]
    assert reply.comment == office.github.review_comments[-1].id
    assert office.github.comments == []


async def test_a_button_on_a_commit_alone_is_answered_by_a_check_of_its_own() -> None:
    office = Office()
    office.github.pulls.clear()
    reply = await office.ask(a_press("status", number=None))
    (check,) = office.github.checks
    assert check.id == reply.comment
    assert check.updates[-1].external_id == "command:42:bd-1"


async def test_a_reaction_that_cannot_be_given_stops_nothing() -> None:
    office = Office()
    office.github.faults["react"] = [
        NotPermitted("no reactions", status=403),
        GitHubError("gone", retryable=True),
    ]
    assert (await office.say("status")).ok


async def test_an_answer_that_may_not_be_written_is_no_error() -> None:
    office = Office()
    office.github.faults["comment"] = [NotPermitted("the conversation is locked", status=403)]
    reply = await office.say("status")
    assert reply.refused == "the conversation is locked"


@pytest.mark.parametrize(
    ("where", "error"),
    [
        ("pull_request", GitHubError("a bad gateway", status=502, retryable=True)),
        (
            "pull_request",
            NotPermitted(
                "the App may not read pull requests", "grant pull_requests:read", status=403
            ),
        ),
    ],
)
async def test_trouble_with_github_is_told(where: str, error: GitHubError) -> None:
    office = Office()
    office.github.faults[where] = [error]
    reply = await office.say("fix")
    assert not reply.ok
    assert error.message in reply.text
    assert error.advice.replace("_", "\\_") in reply.text


async def test_trouble_of_ours_is_told() -> None:
    office = Office()
    office.queue.away = True
    assert "the queue is away" in (await office.say("fix")).text
    assert issubclass(QueueError, Exception)


async def test_a_store_that_cannot_be_read_is_told() -> None:
    office = Office()

    async def broken(*_: Any, **__: Any) -> Any:
        raise StoreError("the registry cannot be used", "look at its disk")

    office.registry.live = broken  # type: ignore[method-assign]
    assert "the registry cannot be used" in (await office.say("fix")).text


@pytest.mark.parametrize(
    ("triggers", "way"),
    [
        ({"comments": False}, "comment"),
        ({"buttons": False}, "button"),
        ({"labels": False}, "label"),
    ],
)
async def test_a_policy_that_switches_a_way_off_is_obeyed_and_named(
    triggers: dict[str, bool], way: str
) -> None:
    office = Office(triggers=Triggers(**triggers))
    reply = await office.ask(WAYS[way]("fix"))
    assert "switches" in reply.text
    assert office.queue.requests == {}


@pytest.mark.parametrize("verb", list(Verb))
async def test_a_policy_that_is_off_lets_only_work_wait(verb: Verb) -> None:
    office = Office(enabled=False)
    reply = await office.say(verb.value)
    assert ("switches MetaAgent off" in reply.text) is not VERBS[verb].always


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("place", ["word", "target", "option", "author", "check"])
async def test_hostile_text_is_shown_as_text_only(attack: str, place: str) -> None:
    office = Office()
    command = a_command("fix nothing-like-it")
    if place == "word":
        command = command.with_(verb=None, word=attack[:100])
    elif place == "target":
        command = command.with_(target=attack[:500])
    elif place == "option":
        command = command.with_(options={attack[:40]: attack[:300]})
    elif place == "author":
        command = command.with_(author=attack[:80], verb=Verb.STATUS)
        office.github.permissions[attack[:80]] = "write"
    else:
        office.github.other_checks = [office.github.other_checks[0].with_(name=attack)]
    reply = await office.ask(command)
    if reply.refused:
        return
    (comment,) = office.github.comments
    harmless_outside_code(comment.body)


def harmless_outside_code(body: str) -> None:
    """Nothing of an attack is markup: what is left when code is taken out has no link, image, mention or tag."""
    left = re.sub(
        r"(`+)(?!`).*?(?<!`)\1(?!`)",
        "",
        re.sub(r"^(```+)[^\n]*\n.*?^\1", "", body, flags=re.MULTILINE | re.DOTALL),
    )
    left = left.replace("<sub>", "").replace("</sub>", "").replace("<details><summary>", "")
    left = left.replace("</summary>", "").replace("</details>", "")
    left = re.sub(r"<!-- metaagent:[A-Za-z0-9.:_-]+ -->", "", left)
    assert "<" not in left.replace("\\<", "").replace("&lt;", "")
    assert not re.search(r"(?<!\\)!?\[[^\]]*\]\(", left)
    assert not re.search(r"(?<![\\\w])@\w", left)


async def test_an_answer_fits_a_comment() -> None:
    office = Office()
    put_proposal(office, changes=9, question="?" * 60_000)
    reply = await office.say("status")
    assert reply.comment is not None
    assert len(office.github.comments[0].body) <= 65_536


def test_every_verb_has_an_action_and_an_entry() -> None:
    assert set(ACTIONS) == set(VERBS) == set(Verb)
    assert all(entry.usage.split()[0] == verb.value for verb, entry in VERBS.items())


async def test_steps_have_names_that_stay() -> None:
    checkpoint = MemoryCheckpoint()
    await handle_command(a_command("status"), Office().services, checkpoint)
    assert checkpoint.names == {"permission", "seen", "act", "tell"}


def _said(number: int) -> FakeComment:
    return FakeComment(id=number, number=PULL, author="alice", body="/metaagent status")


def test_the_office_is_red_at_its_head() -> None:
    assert Office().github.pulls[PULL].head_sha == HEAD


async def test_a_check_called_like_a_mark_of_ours_does_not_draw_later_answers_to_itself() -> None:
    office = Office()
    office.github.other_checks = [
        office.github.other_checks[0].with_(name="<!-- metaagent:help -->")
    ]
    await office.say("fix nothing-like-it")
    await office.ask(a_command("dance", command_id="command:42:c2"))
    assert len(office.github.comments) == 2


# --- the dashboard issue ---------------------------------------------------------------------------


async def ticked(office: Office, row: str, **changes: Any) -> Reply:
    box = read_box(row)
    assert box is not None
    words = f"{box.verb.value} {box.target}".strip()
    place: dict[str, Any] = {"number": box.number or (None if box.head_sha else 9)}
    place |= {"head_sha": box.head_sha, "head_branch": box.head_branch}
    return await office.ask(a_tick(words, box=row, **{**place, **changes}))


async def test_a_box_is_a_command_where_the_dashboard_offers_it() -> None:
    office = Office(dashboard_issue=True)
    put_fix(office)
    board = await read_board(a_repository(), office.policy, office.services)
    (fix,) = board.sections["Open fixes"]
    assert "write access" in (await ticked(office, fix.row, author="bob")).refused
    assert (await ticked(office, fix.row)).ok
    assert office.github.pulls[FIX_PULL].state == "closed"
    again = await ticked(office, fix.row)
    assert "changed meanwhile" in again.text
    assert office.audit.kept[-1].actor == "alice"


class CrashedAfterActing(MemoryCheckpoint):
    """Runs a step again whose result was never stored."""

    @override
    async def step(
        self, name: str, returns: type[Value], call: Callable[[], Awaitable[Value]]
    ) -> Value:
        if name == "act":
            await call()
        return await super().step(name, returns, call)


async def test_a_box_whose_result_was_lost_is_not_said_to_be_gone() -> None:
    office = Office(dashboard_issue=True)
    (off,) = (await read_board(a_repository(), office.policy, office.services)).rows
    box = a_tick("off repository", box=off, number=9, is_pull_request=False)
    checkpoint = CrashedAfterActing()
    reply = await handle_command(box, office.services, checkpoint)
    assert reply.ok, reply.text
    assert "Off for this repository" in office.github.comments[-1].body
    assert checkpoint.names == {"permission", "seen", "offered", "act", "tell"}


@pytest.mark.parametrize("check", ["lint", "ci/tests"])
async def test_a_box_about_a_branch_is_about_its_head_and_its_check(check: str) -> None:
    office = Office(dashboard_issue=True)
    head = office.github.branches["main"]
    office.records.missions["m-1"] = (
        1,
        MissionRecord(
            mission_id="m-1",
            repository=a_repository().id,
            place="octo/calculator",
            trigger="check_run",
            check=check,
            branch="main",
            head_sha="d" * 40,
            queued_at=office.clock.now().isoformat(),
            ended_at=office.clock.now().isoformat(),
            state=RecordState.ENDED,
            outcome=Outcome.NO_FIX,
        ),
    )
    office.github.other_checks = [
        one.with_(head_sha=head, id=one.id + 100) for one in office.github.other_checks
    ]
    office.github.statuses[head] = (StatusState(context="ci/tests", state="failure"),)
    board = await read_board(a_repository(), office.policy, office.services)
    (entry,) = board.sections["Ended without a fix"]
    reply = await ticked(office, entry.row)
    assert reply.ok, reply.text
    (mission,) = office.queue.requests.values()
    assert mission.check is not None
    assert (mission.head_sha, mission.check.name) == (head, check)


async def test_a_box_with_other_words_or_where_none_is_wanted_does_nothing() -> None:
    office = Office(dashboard_issue=True)
    (off,) = (await read_board(a_repository(), office.policy, office.services)).rows
    reply = await ticked(office, off.replace("Turn off", "Turn on"), is_pull_request=False)
    assert "changed meanwhile" in reply.text
    assert office.registry.switches == {}
    elsewhere = Office()
    reply = await ticked(elsewhere, off, is_pull_request=False)
    assert "changed meanwhile" in reply.text
    assert (await ticked(office, off, is_pull_request=False)).ok
    assert office.github.comments[-1].number == 9
    assert "asked by a tick box" in office.github.comments[-1].body


async def test_boxes_are_off_with_the_buttons() -> None:
    office = Office(dashboard_issue=True)
    (off,) = (await read_board(a_repository(), office.policy, office.services)).rows
    office.policy = office.policy.with_(triggers=Triggers(buttons=False))
    reply = await ticked(office, off, is_pull_request=False)
    assert "the policy switches buttons off" in reply.text
