"""The dependencies of the dashboard."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from pydantic import SecretStr

from bot.dashboard.sessions import Sessions
from bot.dashboard.wrong_tokens import WrongTokens
from bot.domain.dashboard import DashboardOptions
from bot.github.sign_in import GitHubSignIn
from bot.ledger.pauses import Pauses
from bot.lessons.stored import StoredLessons
from bot.ports import AuditLog, BlobStore, Clock, MissionQueue, MissionRecords, RegistryReads
from sandbox.gate import Needles, prepare_needles
from sandbox.types import Frozen


class Worker(Frozen):
    """A process that runs missions."""

    name: str
    beat: str
    """Its last heartbeat, ISO 8601."""


async def _no_workers() -> tuple[Worker, ...]:
    """Return none: a single process has no heartbeats."""
    return ()


@dataclass(frozen=True)
class DashboardParts:
    """External dependencies of the pages and of the API."""

    records: MissionRecords
    audit: AuditLog
    lessons: StoredLessons
    registry: RegistryReads
    pauses: Pauses
    queue: MissionQueue
    blobs: BlobStore
    sessions: Sessions
    clock: Clock
    options: DashboardOptions = field(default_factory=DashboardOptions)
    token: SecretStr | None = None
    """Admits the operator; None admits none."""
    sign_in: GitHubSignIn | None = None
    """Signing in with GitHub; None without the App's client id and secret."""
    public_url: str | None = None
    secrets: Needles = field(default_factory=lambda: prepare_needles(()))
    """Our secrets, which the API masks in every text."""
    wrong_tokens: WrongTokens = field(default_factory=WrongTokens)
    stream_s: float = 10.0
    """Length of an event stream, in seconds. Browsers open the next one by themselves; a service
    that stops waits for the open ones."""
    workers: Callable[[], Awaitable[tuple[Worker, ...]]] = _no_workers
