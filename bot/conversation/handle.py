"""handle_command: may they, what do they want, do it, say so; nothing is written for whoever may not command."""

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from types import MappingProxyType

from bot.conversation.decide import answer, apply, reject
from bot.conversation.desk import Desk, Done, Reply, refuse
from bot.conversation.rerun import rerun
from bot.conversation.scene import Scene, look
from bot.conversation.switches import end_stopped, off, on, stop
from bot.conversation.tell import config, help_, how_to, lessons, status
from bot.conversation.undo import undo
from bot.conversation.verbs import VERBS
from bot.conversation.work import unknown_options, work
from bot.domain.command import Command, Origin, Verb
from bot.domain.github import CheckUpdate
from bot.domain.policy import RepositoryPolicy
from bot.errors import GitHubError, MetaAgentError
from bot.github.staged import Notebook, StagedWhole
from bot.policy.rules import no_to_command
from bot.ports import Checkpoint, PatientCheckpoint
from bot.publish.dry_run import StagedRegistry
from bot.publish.markdown import Section, fit
from bot.publish.story import identity
from sandbox.types import Frozen

log = logging.getLogger(__name__)

MAY_COMMAND = frozenset({"admin", "write"})
"""GitHub reports `maintain` as write and `triage` as read."""
BODY = 60_000
"""Characters of a reply."""
HELP_MARKER = "<!-- metaagent:help -->"
"""One answer to unknown words in a pull request, however many there are."""

Action = Callable[[Scene, Desk], Awaitable[Done]]

ACTIONS: Mapping[Verb, Action] = MappingProxyType(
    {
        Verb.FIX: work,
        Verb.EXPLAIN: work,
        Verb.REPRODUCE: work,
        Verb.RERUN: rerun,
        Verb.RETRY: work,
        Verb.APPLY: apply,
        Verb.REJECT: reject,
        Verb.UNDO: undo,
        Verb.OFF: off,
        Verb.ON: on,
        Verb.STATUS: status,
        Verb.CONFIG: config,
        Verb.LESSONS: lessons,
        Verb.ANSWER: answer,
        Verb.STOP: stop,
        Verb.HELP: help_,
    }
)
"""Who does what."""


_ABOUT_GITHUB = frozenset({Verb.RERUN, Verb.UNDO, Verb.REJECT})
"""What we remember of these is what became of something on GitHub."""


class Allowed(Frozen):
    """Whether somebody may command us."""

    yes: bool
    why_not: str = ""


class Shown(Frozen):
    """Whether a sign could be given."""

    ok: bool = True


async def handle_command(command: Command, desk: Desk, checkpoint: PatientCheckpoint) -> Reply:
    """Do what a person asks, once, and say what came of it.

    Args:
        command: What they ask; who they are is known, what they may is not.
        desk: Everything from outside.
        checkpoint: Remembers each step.

    Raises:
        MetaAgentError: the answer could not be written, and trying again may help.
    """
    allowed = await _allowed(command, desk, checkpoint)
    if not allowed.yes:
        log.info("a command is not heard: %s", allowed.why_not, extra={"command": command.command_id})
        return Reply(command_id=command.command_id, refused=allowed.why_not)
    await checkpoint.step("seen", Shown, lambda: _react(command, "eyes", desk))
    try:
        came = await checkpoint.step("act", Done, lambda: _act(command, desk))
    except MetaAgentError as error:
        log.warning("a command failed: %s", error.message, extra={"command": command.command_id})
        advice = f" ({desk.pen.prose(error.advice, cap=300)})" if error.advice else ""
        came = refuse(f"That did not work: {desk.pen.prose(error.message, cap=300)}{advice}.")
    reply = await checkpoint.step("tell", Reply, lambda: _tell(command, came, desk))
    if came.stopped:
        await checkpoint.pause(desk.wind_down_s)
        await checkpoint.step("ended", Shown, lambda: _ended(command, came, desk))
    return reply


async def _allowed(command: Command, desk: Desk, checkpoint: Checkpoint) -> Allowed:
    """What GitHub says of this person now: a button, a label or an old membership proves nothing."""

    async def ask() -> Allowed:
        if command.author.endswith("[bot]"):
            return Allowed(yes=False, why_not="a bot may not command us")
        level = await desk.github.permission(command.repository, command.author)
        if level in MAY_COMMAND:
            return Allowed(yes=True)
        return Allowed(yes=False, why_not=f"the permission is {level}, and write access is needed")

    try:
        return await checkpoint.step("permission", Allowed, ask)
    except GitHubError as error:
        return Allowed(yes=False, why_not=f"GitHub did not say what they may: {error.message}")


async def _act(command: Command, desk: Desk) -> Done:
    """Look at the place, then do it, unless the policy says no."""
    entry = VERBS[command.verb or Verb.HELP]
    policy = await desk.read_policy(command.repository)
    # What starts no work is answered where the policy says off, too.
    asked_of = policy.with_(enabled=True) if entry.always else policy
    if (reason := no_to_command(asked_of, command.origin)) is not None:
        return refuse(f"Not here: {desk.pen.prose(reason, cap=300)}.")
    if command.verb is None:
        return refuse(f"{desk.pen.code(command.word, cap=60)} is not a command of mine.\n\n{how_to()}")
    if (strange := unknown_options(command, desk)) is not None:
        return strange
    if policy.mode == "staged":
        return await _staged(command, policy, desk)
    return await ACTIONS[command.verb](await look(command, policy, desk), desk)


async def _staged(command: Command, policy: RepositoryPolicy, desk: Desk) -> Done:
    """The same where nothing is to be written: what would have been is said instead."""
    verb, notebook = command.verb or Verb.HELP, Notebook()
    staged = replace(desk, github=StagedWhole(desk.github, notebook))
    if verb in _ABOUT_GITHUB:
        staged = replace(staged, registry=StagedRegistry(desk.registry))
    came = await ACTIONS[verb](await look(command, policy, staged), staged)
    if not notebook.writes:
        return came
    text = "\n\n".join(part for part in (came.text, notebook.markdown()) if part)
    return came.with_(text=text)


async def _ended(command: Command, came: Done, desk: Desk) -> Shown:
    """What was stopped says so."""
    await end_stopped(came.stopped, command, desk)
    return Shown()


async def _tell(command: Command, came: Done, desk: Desk) -> Reply:
    """The reaction, and the answer where it was asked."""
    await _react(command, "rocket" if came.ok else "confused", desk)
    reply = Reply(command_id=command.command_id, ok=came.ok, text=came.text, mission_id=came.mission_id)
    if not came.text:
        return reply
    try:
        return reply.with_(comment=await _say(command, came, desk))
    except GitHubError as error:
        if error.retryable:
            raise
        log.warning("no answer could be written: %s", error.message, extra={"command": command.command_id})
        return reply.with_(refused=error.message)


async def _say(command: Command, came: Done, desk: Desk) -> int | None:
    marker = HELP_MARKER if command.verb is None else f"<!-- metaagent:{identity(command.command_id, cap=120)} -->"
    # Our marks are found by their text, so that of others must not look like one.
    text, asked = (part.replace("<!-- metaagent:", "<!-- metaagent :") for part in (came.text, _asked(command, desk)))
    body = fit([Section(lead=text), Section(lead=asked)], limit=BODY, ending=marker)
    comment, repository, github = command.comment, command.repository, desk.github
    if comment is not None and comment.in_review:
        return await github.reply_in_review(repository, comment.number, comment.id, body, marker=marker)
    if command.number is not None:
        return await github.comment(repository, command.number, body, marker=marker)
    if command.head_sha is None:
        return None
    # A button on a commit without a pull request: a check of its own is the only place to answer.
    update = CheckUpdate(
        status="completed",
        title=f"{command.word}: {'done' if came.ok else 'not done'}"[:255],
        summary=body,
        external_id=command.command_id,
    )
    return await github.publish_check(repository, command.head_sha, update)


def _asked(command: Command, desk: Desk) -> str:
    """Who asked for what: comments stand far from what they answer."""
    by = desk.pen.code(command.author, cap=60)
    if command.origin is not Origin.COMMENT:
        return f"<sub>{by} asked by a {command.origin.value}.</sub>"
    said = " ".join(part for part in ("/metaagent", command.word, command.target) if part)
    return f"<sub>{by} asked {desk.pen.code(said, cap=160)}.</sub>"


async def _react(command: Command, content: str, desk: Desk) -> Shown:
    """A sign at the comment; one that cannot be given stops nothing."""
    comment = command.comment
    if comment is None:
        return Shown()
    react = desk.github.react_in_review if comment.in_review else desk.github.react
    try:
        await react(command.repository, comment.id, content)
    except GitHubError as error:
        log.info("no reaction: %s", error.message, extra={"command": command.command_id})
        return Shown(ok=False)
    return Shown()
