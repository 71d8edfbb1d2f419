"""What a service's process needs besides: GitHub, inbox, dispatcher, engine, and who takes each kind of work."""

import asyncio
import logging
from collections.abc import AsyncIterator, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from enum import StrEnum
from functools import partial

from pydantic import SecretStr

from bot.clock import SystemClock
from bot.conversation.desk import Desk
from bot.conversation.handle import handle_command
from bot.domain.command import Command
from bot.domain.mission import MissionContext
from bot.domain.policy import RepositoryPolicy
from bot.domain.request import (
    Feedback,
    GivenUp,
    Halted,
    HeadMoved,
    MissionRequest,
    RedHead,
    RepositoryRef,
)
from bot.errors import DeliveryRejected, NotPermitted, SettingsError, StoreError
from bot.github.events import read_delivery
from bot.github.gateway import GitHubGateway
from bot.health import DatabaseProbe
from bot.intake.identity import OwnApp
from bot.intake.settle import Watch, settle
from bot.intake.webhook import take_in
from bot.ledger.pauses import Pauses
from bot.ledger.work import WorkMeters
from bot.pipeline import handle_request
from bot.policy.policy_file import load_policy
from bot.ports import Checkpoint, PatientCheckpoint, Progress
from bot.progress import BothProgress, LogProgress
from bot.publish.check_run import CheckRunProgress
from bot.queue.dispatch import Dispatcher
from bot.queue.engine import DurableEngine, Pace
from bot.queue.inbox import BUSY_S, Inbox
from bot.queue.workflows import Change, Handlers
from bot.registry import under_way
from bot.registry.stored import StoredRegistry
from bot.settings import Settings
from bot.store.database import is_postgres
from bot.store.opening import open_database
from bot.upkeep.feedback import head_moved, take_feedback
from bot.upkeep.ghosts import end_ghosts
from bot.upkeep.keeper import Keeper
from bot.upkeep.needless import Ending, end_halted, end_needless, tell_given_up
from bot.upkeep.paused import PauseWatch
from bot.upkeep.sweep import Sweeper
from bot.wiring.line import build_line
from bot.wiring.rights import Rights
from bot.wiring.storage import Storage
from sandbox.types import Frozen

BEATS = 6
"""Signs of life within the time after which a worker counts as dead."""

log = logging.getLogger(__name__)


class Role(StrEnum):
    """What one process of a service does."""

    SERVE = "serve"
    """Everything."""
    WEB = "web"
    """Takes events in and puts work in line; on PostgreSQL only."""
    WORKER = "worker"
    """Does the work; on PostgreSQL only."""


def build_github(settings: Settings) -> GitHubGateway:
    """GitHub, as our App.

    Raises:
        SettingsError: the App's id or key is missing.
    """
    if settings.app_id is None:
        raise SettingsError("no App id", "set METAAGENT_APP_ID")
    return GitHubGateway(settings.app_id, settings.signing_key, settings.github_api_url, settings.write_pause_s)


class Service:
    """The parts of a service's process: inbox, dispatcher, engine, and the line they feed.

    Args:
        settings: All settings; the App must be set, and the webhook's secret where webhooks are taken in.
        role: What this process does.

    Raises:
        SettingsError: something a service cannot do without is missing.
        QueueError: the database is of a kind that does not do.
    """

    def __init__(self, settings: Settings, role: Role = Role.SERVE) -> None:
        if role is not Role.SERVE and not is_postgres(settings.engine_url):
            message = f"`metaagent {role}` is one process of several, and SQLite takes one"
            raise SettingsError(message, "set METAAGENT_DATABASE_URL to PostgreSQL, or run `metaagent serve`")
        self.secret = settings.webhook_secret or SecretStr("")
        self._takes_in = role is not Role.WORKER
        if self._takes_in and not self.secret.get_secret_value():
            raise SettingsError("no webhook secret", "set METAAGENT_WEBHOOK_SECRET to the secret of the GitHub App")
        self.github = build_github(settings)
        self.own = OwnApp(app_id=_numeric(settings.app_id), slug=settings.app_slug)
        self._settings = settings
        self._clock = SystemClock()
        self._database = open_database(settings.engine_url, settings.data_dir)
        self._registry = StoredRegistry(self._database)
        self._meters = WorkMeters(self._database, settings.quota, self._clock)

        @asynccontextmanager
        async def listening(request: MissionRequest) -> AsyncIterator[Progress]:
            async with CheckRunProgress(request, self.github, self._clock) as check:
                yield BothProgress(LogProgress(), check)

        self._line = replace(
            build_line(settings, listening, self._database),
            registry=self._registry,
            runs=self.github,
            upkeep=self.github,
            meters=self._meters,
            switchboard=Pauses(self._database),
        )
        self._storage = Storage(settings, self._clock)
        if settings.evidence.keep:
            self._line = replace(self._line, keep_evidence=self._storage.evidence.keep)
        self.engine = DurableEngine(
            settings.engine_url,
            self._handlers(),
            works=role is not Role.WEB,
            workers=settings.workers,
            workers_total=settings.workers_total,
            pace=Pace(
                beat_s=settings.worker_ttl_s / BEATS,
                ttl_s=settings.worker_ttl_s,
                per_minute=settings.missions_per_minute,
                per_minute_each=settings.missions_per_minute_each,
            ),
        )
        inbox = self._database
        if self._takes_in:
            inbox = open_database(settings.engine_url, settings.data_dir, busy_s=BUSY_S)
        self.inbox = Inbox(inbox, self._clock, self.engine.status)
        self._dispatcher = Dispatcher(self.inbox, self.engine)
        self._running: list[asyncio.Task[None]] = []
        self._probe = DatabaseProbe(lambda: self._database.do(lambda tx: tx.execute("SELECT 1")))
        self._rights = Rights(self.github.release).held

    async def start(self) -> None:
        """Open the database and the inbox, launch the engine, take up what a dead process left."""
        await asyncio.to_thread(self._database.open)
        await asyncio.to_thread(self.inbox.open)
        await self.engine.launch()
        if not self._takes_in:
            return
        watch = PauseWatch(Pauses(self._database), self.engine)
        self._running = [endless(self._dispatcher.run(), "dispatcher")]
        self._running.append(endless(watch.run(), "pauses"))
        if self._settings.sweep_s:
            sweeper = Sweeper(
                keeper=self._keeper(),
                hooks=self.github,
                queue=self.engine,
                known=self.inbox.known,
                hand_in=self._hand_in,
                rights=self._rights,
                is_ours=partial(self._database.do, lambda tx: tx.keep("sweep")),
                is_unanswered=self.engine.is_unanswered,
            )
            self._running.append(endless(sweeper.run(self._settings.sweep_s), "sweep"))

    @property
    def _storage_is_shared(self) -> bool:
        """Whether whoever takes a mission over reads what was stored: not so in a folder of one of many machines."""
        return self._settings.storage.url is not None or not is_postgres(self._settings.engine_url)

    @property
    def is_working(self) -> bool:
        """Whether deliveries are handed on to the engine."""
        return self.engine.is_working and bool(self._running) and not self._running[0].done()

    async def missing(self) -> tuple[str, ...]:
        """Return what the process lacks to take work in."""
        lacking = () if self.is_working else ("work that is taken in is not handed on; restart the process",)
        return lacking if await self._probe.answers() else (*lacking, "the database does not answer")

    async def stop(self) -> None:
        """Stop taking work; what runs is taken up at the next start."""
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)
        async with AsyncExitStack() as parts:  # the last one first, each of them whatever becomes of the others
            parts.callback(self.inbox.close)
            parts.push_async_callback(self.github.aclose)
            parts.push_async_callback(self._line.close)
            parts.push_async_callback(self.engine.close)

    # --- who takes each kind of work -------------------------------------------------------------------

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
            closing=self.github.aclose,
            blobs=self._storage.blobs if self._storage_is_shared else None,
        )

    async def _mission(self, request: MissionRequest, checkpoint: Checkpoint) -> MissionContext:
        if request.repository is None or await under_way.is_stopped(request.repository, self._registry):
            raise NotPermitted("the App is suspended or was removed there", "install it again, or unsuspend it")
        async with self._storage.logs.of(request.mission_id), self._rights(request.repository):
            return await handle_request(request, self._line, self.github, checkpoint)

    async def _settle(self, red: RedHead, checkpoint: PatientCheckpoint) -> MissionRequest | None:
        if await under_way.is_stopped(red.repository, self._registry):
            log.info("not watched: the App is suspended or was removed there", extra={"mission": red.mission_id})
            return None
        watch = Watch(
            github=self.github,
            runs=self.github,
            registry=self._registry,
            queue=self.engine,
            app_slug=self.own.slug,
            settle_s=self._settings.settle_s,
        )
        return await settle(red, watch, checkpoint)

    async def _command(self, command: Command, checkpoint: PatientCheckpoint) -> None:
        if await under_way.is_stopped(command.repository, self._registry):
            return
        desk = Desk(
            github=self.github,
            queue=self.engine,
            registry=self._registry,
            lessons=self._line.lessons,
            clock=self._clock,
            read_policy=self._policy,
            app_slug=self.own.slug,
            secrets=self._line.secrets,
        )
        async with self._rights(command.repository):
            await handle_command(command, desk, checkpoint)

    async def _feedback(self, feedback: Feedback) -> None:
        async with self._rights(feedback.repository):
            await take_feedback(feedback, self._keeper())

    async def _notice(self, change: Change, checkpoint: PatientCheckpoint) -> None:
        if isinstance(change, GivenUp | Halted):
            if change.request.repository is not None:
                async with self._rights(change.request.repository):
                    if isinstance(change, GivenUp):
                        await tell_given_up(change, self._ending(), checkpoint)
                    else:
                        await end_halted(change, self._ending(), checkpoint)
        elif isinstance(change, HeadMoved):
            async with self._rights(change.repository):
                await self._follow(change, checkpoint)
        else:
            await end_needless(change, self._ending(), checkpoint)

    async def _follow(self, moved: HeadMoved, checkpoint: PatientCheckpoint) -> None:
        async def follow() -> Frozen:
            await head_moved(moved, self._keeper())
            return Frozen()

        await end_needless(moved, self._ending(), checkpoint)
        await checkpoint.step("follow", Frozen, follow)

    def _ending(self) -> Ending:
        return Ending(
            github=self.github,
            queue=self.engine,
            registry=self._registry,
            clock=self._clock,
            app_slug=self.own.slug,
            secrets=self._line.secrets,
            read_policy=self._policy,
        )

    async def _hand_in(self, delivery: str, event: str, body: bytes) -> None:
        """A delivery that GitHub could not make, taken from its log."""
        try:
            await take_in(read_delivery(event, delivery, body), self.inbox, self.own)
        except DeliveryRejected as error:
            log.warning("a lost delivery is not acceptable: %s", error.message, extra={"delivery": delivery})

    async def _tidy(self) -> None:
        kept = timedelta(days=self._settings.keep_days)
        before = self._clock.now() - kept
        await self.inbox.purge(kept)
        answered = self._clock.now() - timedelta(days=self._settings.keep_answers_days)
        for mission_id in await end_ghosts(self._database, self.engine.status, self._clock.now()):
            await self._give_back(mission_id)
        await self._registry.forget(before.isoformat(), answers_before=answered.isoformat())
        while await self.engine.forget(before):
            log.info("what ended before %s is forgotten", before.date())
        await self._storage.tidy(self.engine.status, before)

    async def _begun(self, request: MissionRequest) -> None:
        await under_way.begin(request, self._registry, self._clock)

    async def _ended(self, mission_id: str) -> None:
        await under_way.end(mission_id, self._registry)
        await self._give_back(mission_id)

    async def _give_back(self, mission_id: str) -> None:
        try:
            await self._meters.give_back(mission_id)
        except StoreError as error:
            log.warning("time stays set aside: %s", error.message, extra={"mission": mission_id})

    def _keeper(self) -> Keeper:
        return Keeper(
            github=self.github,
            upkeep=self.github,
            runs=self.github,
            registry=self._registry,
            lessons=self._line.lessons,
            clock=self._clock,
            app_slug=self.own.slug,
            read_policy=self._policy,
        )

    async def _policy(self, repository: RepositoryRef) -> RepositoryPolicy:
        return await load_policy(repository, self.github)


def endless(work: Coroutine[None, None, None], name: str) -> asyncio.Task[None]:
    """Begin what goes on until it is cancelled; when a fault ends it, the log says so at once."""

    def ended(task: asyncio.Task[None]) -> None:
        error = None if task.cancelled() else task.exception()
        if error is not None:
            log.critical("%s broke and does not go on; start the service again", name, exc_info=error)

    task = asyncio.create_task(work, name=name)
    task.add_done_callback(ended)
    return task


def _numeric(app_id: str | None) -> int | None:
    return int(app_id) if app_id is not None and app_id.isdecimal() else None
