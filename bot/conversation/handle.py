"""Command handling: check the permission, run the command and reply.

People without write access get no reply.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from types import MappingProxyType

from bot.conversation.decide import answer, apply, reject
from bot.conversation.improve import improve
from bot.conversation.rerun import rerun
from bot.conversation.result import CommandOutcome, Reply, pen, refuse
from bot.conversation.scene import Scene, find_scene
from bot.conversation.switches import end_stopped, off, on, stop
from bot.conversation.tell import config, help_, how_to, lessons, status
from bot.conversation.undo import undo
from bot.conversation.verbs import VERBS
from bot.conversation.work import unknown_options, work
from bot.domain.command import Command, Origin, Verb
from bot.domain.github import CheckUpdate
from bot.domain.policy import RepositoryPolicy
from bot.errors import GitHubError, MetaAgentError
from bot.github.staged import Notebook, stage
from bot.policy.rules import command_refusal
from bot.ports import Checkpoint, PatientCheckpoint, Services
from bot.publish.dashboard_issue import read_board
from bot.publish.dry_run import stage_registry
from bot.publish.markdown import Section, fit
from bot.publish.story import identity
from sandbox.types import Frozen

log = logging.getLogger(__name__)

MAY_COMMAND = frozenset({"admin", "write"})
"""GitHub reports `maintain` as write and `triage` as read."""
BODY = 60_000
"""Longest reply, in characters; GitHub refuses more than 65,536."""
HELP_MARKER = "<!-- metaagent:help -->"
"""Marks the single reply to all unknown commands of a pull request."""

Action = Callable[[Scene, Services], Awaitable[CommandOutcome]]

ACTIONS: Mapping[Verb, Action] = MappingProxyType(
    {
        Verb.FIX: work,
        Verb.EXPLAIN: work,
        Verb.REPRODUCE: work,
        Verb.RERUN: rerun,
        Verb.RETRY: work,
        Verb.IMPROVE: improve,
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
"""The handler of each verb."""


_ABOUT_GITHUB = frozenset({Verb.RERUN, Verb.UNDO, Verb.REJECT})
"""Verbs whose registry entries describe changes on GitHub, which staged mode does not make."""


class Allowed(Frozen):
    """The result of the permission check."""

    yes: bool
    why_not: str = ""


class Offered(Frozen):
    """The result of looking for the command's box in the dashboard."""

    yes: bool = True


class Shown(Frozen):
    """The result of adding a reaction."""

    ok: bool = True


async def handle_command(
    command: Command, services: Services, checkpoint: PatientCheckpoint
) -> Reply:
    """Run a person's command once, and reply with the result.

    Args:
        command: The command; the author is authenticated but not yet authorized.
        services: The external dependencies.
        checkpoint: Stores the result of each step.

    Raises:
        MetaAgentError: the reply could not be written, and a retry may help.
    """
    allowed = await _check_allowed(command, services, checkpoint)
    if not allowed.yes:
        log.info("command refused: %s", allowed.why_not, extra={"command": command.command_id})
        return Reply(command_id=command.command_id, refused=allowed.why_not)
    await checkpoint.step("seen", Shown, lambda: _react(command, "eyes", services))
    try:
        offered = Offered()
        if command.origin is Origin.BOX:
            # A step of its own: acting changes the dashboard, and may be repeated after a crash.
            offered = await checkpoint.step(
                "offered", Offered, lambda: _find_box(command, services)
            )
        came = await checkpoint.step(
            "act", CommandOutcome, lambda: _act(command, offered, services)
        )
    except MetaAgentError as error:
        log.warning("command failed: %s", error.message, extra={"command": command.command_id})
        advice = f" ({pen(services).prose(error.advice, cap=300)})" if error.advice else ""
        came = refuse(f"The command failed: {pen(services).prose(error.message, cap=300)}{advice}.")
    reply = await checkpoint.step("tell", Reply, lambda: _send_reply(command, came, services))
    if came.stopped:
        await checkpoint.pause(services.wind_down_s)
        await checkpoint.step("ended", Shown, lambda: _report_stopped(command, came, services))
    return reply


async def _check_allowed(command: Command, services: Services, checkpoint: Checkpoint) -> Allowed:
    """Check the author's current permission.

    A button, a label or an old membership proves nothing.
    """

    async def ask() -> Allowed:
        # Two bots could otherwise answer each other forever.
        if command.author.endswith("[bot]"):
            return Allowed(yes=False, why_not="bots may not give commands")
        level = await services.github.permission(command.repository, command.author)
        may = level in MAY_COMMAND
        await services.note(
            f"command: {command.verb or command.word}",
            command.author,
            command.repository,
            subject=f"#{command.number}" if command.number else command.head_sha or "",
            result="allowed" if may else f"refused: the permission is {level}",
        )
        if may:
            return Allowed(yes=True)
        return Allowed(yes=False, why_not=f"write access is required, the permission is {level}")

    try:
        return await checkpoint.step("permission", Allowed, ask)
    except GitHubError as error:
        return Allowed(yes=False, why_not=f"reading the permission failed: {error.message}")


async def _act(command: Command, offered: Offered, services: Services) -> CommandOutcome:
    """Run the command if the policy allows it."""
    entry = VERBS[command.verb or Verb.HELP]
    # Read now: the policy may have changed since the webhook arrived.
    policy = await services.read_policy(command.repository)
    # Verbs that start no work are allowed even where the policy disables MetaAgent.
    asked_of = policy.with_(enabled=True) if entry.always else policy
    if (reason := command_refusal(asked_of, command.origin)) is not None:
        return refuse(f"Not allowed here: {pen(services).prose(reason, cap=300)}.")
    if not offered.yes:
        return refuse("The dashboard changed meanwhile, so nothing was done. Look again, and tick.")
    if command.verb is None:
        return refuse(
            f"{pen(services).code(command.word, cap=60)} is not a known command.\n\n{how_to()}"
        )
    if (strange := unknown_options(command, services)) is not None:
        return strange
    if policy.mode == "staged":
        return await _stage(command, policy, services)
    return await ACTIONS[command.verb](await find_scene(command, policy, services), services)


async def _find_box(command: Command, services: Services) -> Offered:
    """Look whether the dashboard has this box now, with the same words.

    People who may edit the issue but not command us could give a box another meaning, for others
    to tick.
    """
    policy = await services.read_policy(command.repository)
    if not policy.dashboard_issue:
        return Offered(yes=False)
    return Offered(yes=command.box in (await read_board(command.repository, policy, services)).rows)


async def _stage(command: Command, policy: RepositoryPolicy, services: Services) -> CommandOutcome:
    """Run the command in staged mode, and report its writes instead of making them."""
    verb, notebook = command.verb or Verb.HELP, Notebook()
    staged = replace(services, github=stage(services.github, notebook))
    if verb in _ABOUT_GITHUB:
        staged = replace(staged, registry=stage_registry(services.registry))
    came = await ACTIONS[verb](await find_scene(command, policy, staged), staged)
    if not notebook.writes:
        return came
    text = "\n\n".join(part for part in (came.text, notebook.markdown()) if part)
    return came.with_(text=text)


async def _report_stopped(command: Command, came: CommandOutcome, services: Services) -> Shown:
    """Report the end of stopped missions."""
    await end_stopped(came.stopped, command, services)
    return Shown()


async def _send_reply(command: Command, came: CommandOutcome, services: Services) -> Reply:
    """Add the reaction and write the reply."""
    await _react(command, "rocket" if came.ok else "confused", services)
    reply = Reply(
        command_id=command.command_id, ok=came.ok, text=came.text, mission_id=came.mission_id
    )
    if not came.text:
        return reply
    try:
        return reply.with_(comment=await _say(command, came, services))
    except GitHubError as error:
        if error.retryable:
            raise
        log.warning(
            "writing a reply failed: %s",
            error.message,
            extra={"command": command.command_id},
        )
        return reply.with_(refused=error.message)


async def _say(command: Command, came: CommandOutcome, services: Services) -> int | None:
    marker = (
        HELP_MARKER
        if command.verb is None
        else f"<!-- metaagent:{identity(command.command_id, cap=120)} -->"
    )
    # Our markers are found by their text, so quoted text must not contain one.
    text, asked = (
        part.replace("<!-- metaagent:", "<!-- metaagent :")
        for part in (came.text, _quote_command(command, services))
    )
    body = fit([Section(lead=text), Section(lead=asked)], limit=BODY, ending=marker)
    comment, repository, github = command.comment, command.repository, services.github
    if comment is not None and comment.in_review:
        return await github.reply_in_review(
            repository, comment.number, comment.id, body, marker=marker
        )
    if command.number is not None:
        return await github.comment(
            repository,
            command.number,
            body,
            marker=marker,
            is_pull_request=command.is_pull_request,
        )
    if command.head_sha is None:
        return None
    # A button on a commit without a pull request can only be answered by a check run.
    update = CheckUpdate(
        status="completed",
        title=f"{command.word}: {'done' if came.ok else 'not done'}"[:255],
        summary=body,
        external_id=command.command_id,
    )
    return await github.publish_check(repository, command.head_sha, update)


def _quote_command(command: Command, services: Services) -> str:
    """Return the line that names the command, because a reply may be far from its comment."""
    by = pen(services).code(command.author, cap=60)
    if command.origin is not Origin.COMMENT:
        return f"<sub>{by} asked by a {command.origin.value}.</sub>"
    said = " ".join(part for part in ("/metaagent", command.word, command.target) if part)
    return f"<sub>{by} asked {pen(services).code(said, cap=160)}.</sub>"


async def _react(command: Command, content: str, services: Services) -> Shown:
    """Add a reaction to the comment; a failure is only logged."""
    comment = command.comment
    if comment is None:
        return Shown()
    react = services.github.react_in_review if comment.in_review else services.github.react
    try:
        await react(command.repository, comment.id, content)
    except GitHubError as error:
        log.info(
            "adding a reaction failed: %s", error.message, extra={"command": command.command_id}
        )
        return Shown(ok=False)
    return Shown()
