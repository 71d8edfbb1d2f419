"""Build the parts of a service's process."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial

from bot.clock import SystemClock
from bot.domain.mission_record import AuditEntry
from bot.domain.request import MissionRequest
from bot.github.client import Write
from bot.github.gateway import GitHubGateway
from bot.ledger.pauses import Pauses
from bot.ledger.work import WorkMeters
from bot.pipeline import MissionServices
from bot.policy.policy_file import load_policy
from bot.ports import Clock, MissionQueue, Progress, Services
from bot.publish.check_run import CheckRunProgress
from bot.publish.progress import BothProgress, LogProgress
from bot.publish.recorder import Recorder
from bot.queue.engine import DurableEngine, EngineTiming
from bot.queue.inbox import BUSY_S, Inbox
from bot.queue.workflows import Handlers
from bot.registry.audit import StoredAudit
from bot.registry.missions import StoredMissions
from bot.registry.stored import StoredRegistry
from bot.settings import Settings
from bot.store.database import Database
from bot.store.opening import open_database
from bot.telemetry import current_mission
from bot.traces import Traces, open_traces
from bot.wiring.github import build_github
from bot.wiring.mission_services import build_mission_services
from bot.wiring.storage import Storage

BEATS = 6
"""Heartbeats within the time after which a worker counts as dead."""


@dataclass(frozen=True)
class ServiceParts:
    """The parts of a process that its handlers use."""

    github: GitHubGateway
    clock: Clock
    database: Database
    registry: StoredRegistry
    meters: WorkMeters
    pauses: Pauses
    storage: Storage
    mission_services: MissionServices
    recorder: Recorder
    traces: Traces | None
    missions: StoredMissions
    audit: StoredAudit


def build_parts(settings: Settings) -> ServiceParts:
    """Build the parts; nothing is opened yet.

    Raises:
        SettingsError: a required setting is missing or wrong.
    """
    clock = SystemClock()
    database = open_database(settings.engine_url, settings.data_dir)
    missions, audit = StoredMissions(database), StoredAudit(database)
    github = build_github(settings, partial(_note_write, audit, clock, settings.app_slug))
    traces = open_traces(settings.telemetry.otlp_url)
    recorder = Recorder(missions, clock, settings.secret_values, traces)
    registry, pauses = StoredRegistry(database), Pauses(database)
    meters = WorkMeters(database, settings.quota, clock)
    storage = Storage(settings, clock)

    @asynccontextmanager
    async def listening(request: MissionRequest) -> AsyncIterator[Progress]:
        async with CheckRunProgress(request, github, clock) as check:
            yield BothProgress(LogProgress(), recorder, check)

    services = replace(
        build_mission_services(settings, listening, database),
        recorder=recorder,
        registry=registry,
        meters=meters,
        switchboard=pauses,
    )
    if settings.evidence.keep:
        services = replace(services, keep_evidence=storage.evidence.keep)
    return ServiceParts(
        github=github,
        clock=clock,
        database=database,
        registry=registry,
        meters=meters,
        pauses=pauses,
        storage=storage,
        mission_services=services,
        recorder=recorder,
        traces=traces,
        missions=missions,
        audit=audit,
    )


async def _note_write(audit: StoredAudit, clock: Clock, slug: str, write: Write) -> None:
    """Add a write to GitHub to the audit log."""
    entry = AuditEntry(
        at=clock.now().isoformat(),
        actor=f"{slug}[bot]",
        action=f"github: {write.action}",
        repository=write.repository.id,
        place=write.repository.full_name,
        mission=current_mission.get(),
        result=write.result,
    )
    await audit.note(entry)


def build_services(settings: Settings, parts: ServiceParts, queue: MissionQueue) -> Services:
    """Return the dependencies of all work on GitHub outside of missions."""
    return Services(
        github=parts.github,
        queue=queue,
        registry=parts.registry,
        records=parts.missions,
        audit=parts.audit,
        pauses=parts.pauses,
        lessons=parts.mission_services.lessons,
        clock=parts.clock,
        read_policy=partial(load_policy, github=parts.github),
        app_slug=settings.app_slug,
        secrets=parts.mission_services.secrets,
    )


def build_engine(settings: Settings, handlers: Handlers, *, works: bool) -> DurableEngine:
    """Build the queue's engine.

    Args:
        settings: All settings.
        handlers: One handler for each kind of work.
        works: True to run work, False to only enqueue it for other processes.

    Raises:
        QueueError: the kind of database is not supported.
    """
    return DurableEngine(
        settings.engine_url,
        handlers,
        works=works,
        workers=settings.workers,
        workers_total=settings.workers_total,
        pace=EngineTiming(
            beat_s=settings.worker_ttl_s / BEATS,
            ttl_s=settings.worker_ttl_s,
            per_minute=settings.missions_per_minute,
            per_minute_each=settings.missions_per_minute_each,
        ),
    )


def build_inbox(
    settings: Settings, parts: ServiceParts, engine: DurableEngine, *, takes_in: bool
) -> Inbox:
    """Return the inbox of deliveries."""
    database = parts.database
    # A connection of its own, with a short wait for locks: GitHub waits ten seconds.
    if takes_in:
        database = open_database(settings.engine_url, settings.data_dir, busy_s=BUSY_S)
    return Inbox(database, parts.clock, engine.status)
