"""One process of the service: webhooks, queue, and a handler for each kind of work."""

import asyncio
import logging
import os
import signal
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import datetime, timedelta
from enum import StrEnum
from functools import partial

from pydantic import SecretStr

from bot.conversation.handle import handle_command
from bot.conversation.policy_change import check_policy_change
from bot.domain.command import Command, Origin
from bot.domain.mission import MissionContext
from bot.domain.request import (
    DashboardDue,
    DashboardTouched,
    Feedback,
    GivenUp,
    Halted,
    HeadMoved,
    InstallationChange,
    MissionRequest,
    PullRequestOpened,
    RedHead,
)
from bot.domain.telemetry import Figures
from bot.errors import DeliveryRejected, NotPermitted, SettingsError, StoreError
from bot.front.health import DatabaseProbe
from bot.github.events import read_delivery
from bot.github.rights import Rights
from bot.intake.identity import own_app
from bot.intake.settle import settle
from bot.intake.webhook import take_in
from bot.pipeline import handle_request
from bot.ports import Checkpoint, PatientCheckpoint
from bot.queue.dispatch import Dispatcher
from bot.queue.workflows import Change, Handlers
from bot.registry import under_way
from bot.registry.dashboards import StoredDashboards
from bot.settings import Settings
from bot.store.database import is_postgres
from bot.upkeep.dashboard_issue import DashboardIssues
from bot.upkeep.feedback import head_moved, take_feedback
from bot.upkeep.obsolete import end_halted, end_obsolete, report_given_up
from bot.upkeep.onboarding import onboard
from bot.upkeep.paused import PauseWatch
from bot.upkeep.scheduled import AfterMerge
from bot.upkeep.stale_rows import end_stale_rows
from bot.upkeep.sweep import Sweeper
from bot.wiring.service import build_engine, build_inbox, build_parts, build_services
from sandbox.types import Frozen

log = logging.getLogger(__name__)


class Role(StrEnum):
    """The work of one process of a service."""

    SERVE = "serve"
    """All work."""
    WEB = "web"
    """Receives events and enqueues work; on PostgreSQL only."""
    WORKER = "worker"
    """Runs the work; on PostgreSQL only."""


class Service:
    """The parts of a service's process: inbox, dispatcher, engine, and their handlers.

    Args:
        settings: All settings; App and webhook secret must be set, the latter not for workers.
        role: The work of this process.

    Raises:
        SettingsError: a required setting is missing.
        QueueError: the kind of database is not supported.
    """

    def __init__(self, settings: Settings, role: Role = Role.SERVE) -> None:
        self._takes_in = role is not Role.WORKER
        _check_role(settings, role)
        self.secret = settings.webhook_secret or SecretStr("")
        self.own = own_app(settings.app_id, settings.app_slug)
        self._settings = settings
        self.parts = build_parts(settings)
        self.engine = build_engine(settings, self._handlers(), works=role is not Role.WEB)
        # The handlers are called after the launch only.
        services = build_services(settings, self.parts, self.engine)
        known = StoredDashboards(self.parts.database)
        self._dashboards = DashboardIssues(services, known, settings.dashboard.issue_every_s)
        self._services = replace(services, read_policy=self._dashboards.read_policy)
        self._after_merge = AfterMerge(self._services)
        self.inbox = build_inbox(settings, self.parts, self.engine, takes_in=self._takes_in)
        self._dispatcher = Dispatcher(self.inbox, self.engine)
        self._running: list[asyncio.Task[None]] = []
        database = self.parts.database
        self._probe = DatabaseProbe(lambda: database.do(lambda tx: tx.execute("SELECT 1")))
        self._rights = Rights(self.parts.github.release).held

    async def start(self) -> None:
        """Open database and inbox, launch the engine, and resume work of a dead process."""
        await asyncio.to_thread(self.parts.database.open)
        await asyncio.to_thread(self.inbox.open)
        await self.engine.launch()
        if not self._takes_in:
            return
        watch = PauseWatch(self.parts.pauses, self.engine, self.parts.missions)
        self._running = [start_endless(self._dispatcher.run(), "dispatcher")]
        self._running.append(start_endless(watch.run(), "pauses"))
        if self._settings.sweep_s:
            sweeper = Sweeper(
                services=self._services,
                hooks=self.parts.github,
                known=self.inbox.find_known,
                hand_in=self._hand_in,
                rights=self._rights,
                # One process sweeps for all: it holds an advisory lock of PostgreSQL.
                is_ours=partial(self.parts.database.do, lambda tx: tx.keep("sweep")),
                is_unanswered=self.engine.is_unanswered,
                look_after=self._dashboards.changed,
            )
            self._running.append(start_endless(sweeper.run(self._settings.sweep_s), "sweep"))

    @property
    def _storage_is_shared(self) -> bool:
        """Return True if any process that takes a mission over can read its stored values.

        SQLite has a single process. On PostgreSQL, a local folder belongs to one machine of many.
        """
        return self._settings.storage.url is not None or not is_postgres(self._settings.engine_url)

    @property
    def is_working(self) -> bool:
        """Return True if deliveries reach the engine."""
        # The first task is the dispatcher.
        return self.engine.is_working and bool(self._running) and not self._running[0].done()

    async def missing(self) -> tuple[str, ...]:
        """Return what the process lacks to take work."""
        lacking = (
            ()
            if self.is_working
            else ("work that is taken in is not handed on; restart the process",)
        )
        return (
            lacking if await self._probe.answers() else (*lacking, "the database does not answer")
        )

    async def figures(self) -> Figures:
        """Return the figures for monitoring, over all processes.

        Raises:
            StoreError: the database cannot be used.
        """
        missions = self.parts.missions
        active = await missions.under_way()
        age = 0.0
        if "waiting" in active:
            oldest = datetime.fromisoformat(active["waiting"][1])
            age = (self.parts.clock.now() - oldest).total_seconds()
        return Figures(
            totals=await missions.totals(),
            active=active,
            oldest_s=max(0.0, age),
            fates=(await missions.scoreboard()).fates,
            working=self.is_working,
        )

    async def stop(self) -> None:
        """Stop taking work; active missions resume at the next start."""
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)
        async with AsyncExitStack() as parts:  # in reverse order, each one even if another fails
            parts.callback(self.inbox.close)
            parts.push_async_callback(self.parts.github.aclose)
            parts.push_async_callback(self.parts.mission_services.close)
            if self.parts.traces is not None:
                parts.push_async_callback(asyncio.to_thread, self.parts.traces.close)
            parts.push_async_callback(self.engine.close)

    # --- handlers ---------------------------------------------------------------------------------

    def _handlers(self) -> Handlers:
        return Handlers(
            mission=self._mission,
            settle=self._settle,
            command=self._command,
            feedback=self._feedback,
            notice=self._notice,
            tidy=self._tidy,
            begun=self._begun,
            ended=self._ended,
            closing=self.parts.github.aclose,
            blobs=self.parts.storage.blobs if self._storage_is_shared else None,
        )

    async def _mission(self, request: MissionRequest, checkpoint: Checkpoint) -> MissionContext:
        # The App may have been removed while the mission waited in the queue.
        if request.repository is None or await under_way.is_stopped(
            request.repository, self.parts.registry
        ):
            raise NotPermitted(
                "the App is suspended or was removed there", "install it again, or unsuspend it"
            )
        async with (
            self.parts.storage.logs.of(request.mission_id),
            self._rights(request.repository),
        ):
            context = await handle_request(
                request, self.parts.mission_services, self.parts.github, checkpoint
            )
        # A policy without origins may be one that was not read.
        if context.policy.origins and not request.staged:
            await self._dashboards.learn(request.repository, context.policy, is_new=False)
        await self._dashboards.changed(request.repository)
        return context

    async def _settle(self, red: RedHead, checkpoint: PatientCheckpoint) -> MissionRequest | None:
        if await under_way.is_stopped(red.repository, self.parts.registry):
            log.info(
                "event ignored: the App is suspended or removed there",
                extra={"mission": red.mission_id},
            )
            return None
        return await settle(red, self._services, checkpoint, self._settings.settle_s)

    async def _command(self, command: Command, checkpoint: PatientCheckpoint) -> None:
        if await under_way.is_stopped(command.repository, self.parts.registry):
            return
        async with self._rights(command.repository):
            await handle_command(command, self._services, checkpoint)
        if command.origin is Origin.BOX:
            await self._dashboards.touched(command.repository, None)
        else:
            await self._dashboards.changed(command.repository)

    async def _feedback(self, feedback: Feedback) -> None:
        async with self._rights(feedback.repository):
            await take_feedback(feedback, self._services)
        await self._dashboards.changed(feedback.repository)

    async def _notice(self, change: Change, checkpoint: PatientCheckpoint) -> None:
        if isinstance(change, GivenUp | Halted):
            if change.request.repository is not None:
                async with self._rights(change.request.repository):
                    if isinstance(change, GivenUp):
                        await report_given_up(change, self._services, checkpoint)
                    else:
                        await end_halted(change, self._services, checkpoint)
            await self._dashboards.changed(change.request.repository)
        elif isinstance(change, HeadMoved):
            async with self._rights(change.repository):
                await self._follow(change, checkpoint)
            await self._dashboards.changed(change.repository)
        elif isinstance(change, DashboardTouched):
            await self._dashboards.touched(change.repository, change)
        elif isinstance(change, DashboardDue):
            if not await under_way.is_stopped(change.repository, self.parts.registry):
                async with self._rights(change.repository):
                    await self._refresh_dashboard(change, checkpoint)
        elif isinstance(change, PullRequestOpened):
            if not await under_way.is_stopped(change.repository, self.parts.registry):
                async with self._rights(change.repository):
                    await self._check_policy(change, checkpoint)
        else:
            await end_obsolete(change, self._services, checkpoint)
            await self._onboard(change, checkpoint)

    async def _onboard(self, change: InstallationChange, checkpoint: PatientCheckpoint) -> None:
        await onboard(
            change,
            self.parts.github,
            self._services,
            checkpoint,
            most=self._settings.onboard_repositories,
            rights=self._rights,
        )

    async def _refresh_dashboard(self, due: DashboardDue, checkpoint: PatientCheckpoint) -> None:
        async def refresh() -> Frozen:
            await self._dashboards.refresh(due)
            return Frozen()

        await checkpoint.step("dashboard", Frozen, refresh)

    async def _follow(self, moved: HeadMoved, checkpoint: PatientCheckpoint) -> None:
        async def follow() -> Frozen:
            if moved.touches_policy and moved.branch == moved.repository.default_branch:
                await self._services.read_policy(moved.repository)
            await head_moved(moved, self._services)
            await self._after_merge.request(moved)
            return Frozen()

        await end_obsolete(moved, self._services, checkpoint)
        await checkpoint.step("follow", Frozen, follow)
        if moved.closed and moved.pull_request is not None:
            await self._dashboards.note_pull(moved.repository, moved.pull_request, is_open=False)
        if moved.pull_request is not None and moved.after is not None and not moved.closed:
            opened = PullRequestOpened(
                repository=moved.repository,
                pull_request=moved.pull_request,
                head_sha=moved.after,
            )
            await self._check_policy(opened, checkpoint)

    async def _check_policy(self, opened: PullRequestOpened, checkpoint: PatientCheckpoint) -> None:
        async def check() -> Frozen:
            number, head = opened.pull_request, opened.head_sha
            await check_policy_change(opened.repository, number, head, self._services)
            return Frozen()

        await checkpoint.step("policy", Frozen, check)

    async def _hand_in(self, delivery: str, event: str, body: bytes) -> None:
        """Ingest a failed delivery from GitHub's log."""
        try:
            await take_in(read_delivery(event, delivery, body), self.inbox, self.own)
        except DeliveryRejected as error:
            log.warning("lost delivery rejected: %s", error.message, extra={"delivery": delivery})

    async def _tidy(self) -> None:
        kept = timedelta(days=self._settings.keep_days)
        before = self.parts.clock.now() - kept
        await self.inbox.purge(kept)
        answered = self.parts.clock.now() - timedelta(days=self._settings.keep_answers_days)
        for mission_id in await end_stale_rows(
            self.parts.database, self.engine.status, self.parts.clock.now()
        ):
            await self._give_back(mission_id)
        await self.parts.registry.forget(before.isoformat(), answers_before=answered.isoformat())
        recorded = self.parts.clock.now() - timedelta(days=self._settings.keep_missions_days)
        await self.parts.missions.forget(recorded.isoformat(), details_before=before.isoformat())
        while await self.engine.forget(before):
            log.info("records of work ended before %s deleted", before.date())
        await self.parts.storage.tidy(self.engine.status, before)

    async def _begun(self, request: MissionRequest) -> None:
        await under_way.begin(request, self.parts.registry, self.parts.clock)
        await self.parts.recorder.enqueue(request)
        if request.repository is not None and request.pull_request is not None:
            pull, repository = request.pull_request, request.repository
            await self._dashboards.note_pull(repository, pull, is_open=True)
        await self._dashboards.changed(request.repository)

    async def _ended(self, mission_id: str) -> None:
        await under_way.end(mission_id, self.parts.registry)
        await self.parts.recorder.stop(mission_id)
        await self._give_back(mission_id)

    async def _give_back(self, mission_id: str) -> None:
        try:
            await self.parts.meters.give_back(mission_id)
        except StoreError as error:
            log.warning(
                "releasing the time reservation failed: %s",
                error.message,
                extra={"mission": mission_id},
            )


def _check_role(settings: Settings, role: Role) -> None:
    if role is not Role.SERVE and not is_postgres(settings.engine_url):
        message = f"`metaagent {role}` is one process of several, and SQLite takes one"
        raise SettingsError(
            message, "set METAAGENT_DATABASE_URL to PostgreSQL, or run `metaagent serve`"
        )
    secret = settings.webhook_secret
    if role is not Role.WORKER and not (secret and secret.get_secret_value()):
        raise SettingsError(
            "no webhook secret", "set METAAGENT_WEBHOOK_SECRET to the secret of the GitHub App"
        )


def start_endless(work: Coroutine[None, None, None], name: str) -> asyncio.Task[None]:
    """Start a task that runs until it is cancelled; an error that ends it stops the process."""

    def ended(task: asyncio.Task[None]) -> None:
        error = None if task.cancelled() else task.exception()
        if error is not None:
            log.critical(
                "background task %s failed; stopping, to be restarted", name, exc_info=error
            )
            # Stop in order; the service manager starts a process that runs the task again.
            os.kill(os.getpid(), signal.SIGTERM)

    task = asyncio.create_task(work, name=name)
    # Nothing awaits the task: asyncio would report its error only at garbage collection.
    task.add_done_callback(ended)
    return task
