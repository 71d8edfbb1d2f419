"""metaagent simulate: show what a webhook would start, without writing anything."""

import asyncio
import logging
import sys
import tempfile
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from bot.clock import SystemClock
from bot.conversation.handle import handle_command
from bot.domain.command import Command
from bot.domain.request import (
    DashboardTouched,
    Feedback,
    HeadMoved,
    Ignored,
    InstallationChange,
    MissionRequest,
    PullRequestOpened,
    RedHead,
)
from bot.errors import DeliveryRejected, MetaAgentError, UsageError
from bot.github.events import read_delivery
from bot.github.staged import Notebook, stage
from bot.intake.identity import own_app
from bot.intake.router import Decision, route
from bot.lessons.stored import StoredLessons
from bot.policy.policy_file import load_policy
from bot.ports import Notice, Services
from bot.queue.memory import MemoryCheckpoint
from bot.registry.stored import StoredRegistry
from bot.settings import Settings
from bot.store.database import Database
from bot.store.scratch import scratch_copy
from bot.terminal.prepare import set_up_quiet_logging
from bot.upkeep.preview import Preview, as_data, preview_mission, preview_red
from bot.wiring.github import build_github
from sandbox.gate import clean

_BY_KEY = (
    ("check_run", "check_run"),
    ("check_suite", "check_suite"),
    ("workflow_job", "workflow_job"),
    ("workflow_run", "workflow_run"),
    ("repositories_added", "installation_repositories"),
    ("zen", "ping"),
    ("issue", "issue_comment"),
    ("review", "pull_request_review"),
    ("comment", "pull_request_review_comment"),
    ("pull_request", "pull_request"),
    ("pusher", "push"),
    ("context", "status"),
)
"""Events by a top-level key of their payload; the first match counts.

Specific keys come first: an `issue_comment` also has `comment`, and a review `pull_request`.
"""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class SimulateOrder:
    """The options of one run."""

    path: str
    """A file; `-` is standard input."""
    event: str | None = None
    offline: bool = False


@dataclass(frozen=True)
class SimulateResult:
    """A text for people, and an object for programs."""

    text: str
    json_object: dict[str, Any]


def run_simulate(order: SimulateOrder, settings: Settings) -> SimulateResult:
    """Show what a webhook would start.

    Args:
        order: The options.
        settings: All settings; without an App, GitHub is not asked.

    Raises:
        UsageError: the payload cannot be read, or is not in GitHub's format.
    """
    settings = set_up_quiet_logging(settings)
    content = _read(order.path, settings.webhook_max_bytes)
    told = Preview()
    try:
        event = order.event or detect_event(content)
        delivery = read_delivery(event, "simulated", content)
        own = own_app(settings.app_id, settings.app_slug)
        decision = route(delivery, own)
    except DeliveryRejected as error:
        raise UsageError(
            f"{order.path}: {error.message}", "give the body of a webhook, and --event NAME"
        ) from error
    title = f"{delivery.event}.{delivery.action}" if delivery.action else delivery.event
    told.say(f"{title}: {sentence(decision)}", event=title, decision=as_data(decision))
    if isinstance(decision, RedHead | MissionRequest | Command):
        if order.offline or settings.needs_setup:
            told.say(
                "GitHub was not asked"
                + (": there is no App (metaagent setup)" if settings.needs_setup else "")
            )
        else:
            asyncio.run(_ask(decision, settings, told))
    told.say("Nothing was written.")
    return SimulateResult(text=clean("\n".join(told.lines)), json_object=told.data)


def detect_event(content: bytes) -> str:
    """Return the event of a payload, by its keys.

    Raises:
        DeliveryRejected: it is not JSON, or of no known event.
    """
    body = read_delivery("unknown", "simulated", content).body
    if "issue" in body and "comment" not in body:
        return "issues"
    named = next((event for key, event in _BY_KEY if key in body), None)
    # Every webhook of an App has this key, so it counts last.
    if named is None and "installation" in body:
        named = "installation"
    if named is None:
        raise DeliveryRejected("the payload does not tell its event", status=400)
    return named


def sentence(decision: Decision) -> str:
    """Describe the decision on a delivery."""
    match decision:
        case Ignored():
            return f"ignored: {decision.reason}"
        case RedHead():
            check = f", check {decision.check.name}" if decision.check else ""
            where = decision.head_branch or "an unknown branch"
            return (
                f"red: {decision.repository.full_name} at {decision.head_sha[:12]} on "
                f"{where}{check}"
            )
        case MissionRequest():
            where = decision.repository.full_name if decision.repository else ""
            return (
                f"a mission in {where}, asked for by "
                f"{decision.requested_by or decision.trigger.value}"
            )
        case Command():
            what = decision.verb.value if decision.verb else f"the unknown word {decision.word}"
            return (
                f"{decision.author} asks for {what} in {decision.repository.full_name} by "
                f"{decision.origin.value}"
            )
        case Feedback():
            fate = decision.fate or ("merged" if decision.merged else "closed")
            return (
                f"#{decision.pull_request} of {decision.repository.full_name} was {fate}: fixes "
                "and lessons learn it"
            )
        case HeadMoved():
            to = decision.after[:12] if decision.after else "nothing"
            return (
                f"{decision.branch} of {decision.repository.full_name} moved to {to}: work on what "
                "was there ends"
            )
        case PullRequestOpened():
            return (
                f"#{decision.pull_request} of {decision.repository.full_name} was opened: its "
                "policy file is checked if it changes one"
            )
        case InstallationChange() | DashboardTouched():
            what = (
                f"installation {decision.installation_id} of {decision.account}"
                if isinstance(decision, InstallationChange)
                else f"the dashboard issue #{decision.number} of {decision.repository.full_name}"
            )
            return f"{what}: {decision.action}"


async def _ask(
    decision: RedHead | MissionRequest | Command, settings: Settings, told: Preview
) -> None:
    """Continue as the service would, with a read-only GitHub and a copy of the registry."""
    notebook = Notebook()
    with (
        tempfile.TemporaryDirectory(prefix="metaagent-") as folder,
        closing(_copy(decision, settings, folder)) as copy,
    ):
        gateway = build_github(settings)
        github = stage(gateway, notebook, writes_check=False)
        services = Services(
            github=github,
            queue=_Queue(),
            registry=StoredRegistry(copy),
            lessons=StoredLessons(copy),
            clock=SystemClock(),
            read_policy=partial(load_policy, github=github),
            app_slug=settings.app_slug,
            secrets=settings.secret_values,
        )
        try:
            await _follow(decision, services, told)
        except MetaAgentError as error:
            told.say(
                f"GitHub: {error.message}" + (f" ({error.advice})" if error.advice else ""),
                error=error.message,
            )
        finally:
            await gateway.aclose()
    for one in notebook.writes:
        told.say(f"would write: {one.what}")
        told.lines += [f"    {line}" for line in one.text.splitlines()]
    told.data["writes"] = [one.model_dump() for one in notebook.writes]


class _Queue:
    """A queue from which nothing is taken."""

    def __init__(self) -> None:
        self._submitted: list[MissionRequest] = []

    async def submit(self, request: MissionRequest) -> bool:
        self._submitted.append(request)
        return True

    async def feed_back(self, feedback: Feedback) -> None:
        log.debug("simulation: feedback dropped: %s", feedback.pull_request)

    async def settle(self, _: RedHead) -> bool:
        return True

    async def command(self, _: Command) -> bool:
        return True

    async def notice(self, change: Notice, *, delay_s: float = 0.0) -> None:
        log.debug("simulation: change dropped: %s, in %.0f s", change.kind, delay_s)

    async def cancel(self, mission_id: str) -> None:
        log.debug("simulation: cancellation dropped: %s", mission_id)

    async def status(self, _: str) -> str | None:
        return None

    async def under_way(self, repository_id: int | None = None) -> tuple[MissionRequest, ...]:
        return tuple(
            r for r in self._submitted if r.repository and repository_id in {None, r.repository.id}
        )


async def _follow(
    decision: RedHead | MissionRequest | Command, services: Services, told: Preview
) -> None:
    if isinstance(decision, MissionRequest):
        await preview_mission(decision, services, told)
        return
    if isinstance(decision, Command):
        reply = await handle_command(decision, services, MemoryCheckpoint())
        if reply.refused:
            told.say(f"refused: {reply.refused}", refused=reply.refused)
        for request in await services.queue.under_way():
            await preview_mission(request, services, told)
        return
    await preview_red(decision, services, told)


def _read(path: str, most: int) -> bytes:
    """Read the payload up to a webhook's size limit."""
    try:
        if path == "-":
            return sys.stdin.buffer.read(most)
        with Path(path).open("rb") as file:
            return file.read(most)
    except OSError as error:
        raise UsageError(
            f"{path} cannot be read ({error.strerror})", "give the file of a webhook's body"
        ) from error


def _copy(
    decision: RedHead | MissionRequest | Command, settings: Settings, folder: str
) -> Database:
    """Return a copy of the repository's entries; changes to it are temporary."""
    return scratch_copy(
        settings.engine_url, decision.repository.id if decision.repository else None, Path(folder)
    )
