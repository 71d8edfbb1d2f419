"""Build the dashboard's dependencies from a process of the service."""

import logging

from bot.dashboard.parts import DashboardParts, Worker
from bot.dashboard.render import BASE
from bot.dashboard.sessions import Sessions
from bot.dashboard.token_file import FILE, operator_token
from bot.github.sign_in import GitHubSignIn
from bot.lessons.stored import StoredLessons
from bot.service import Role, Service
from bot.settings import Settings
from bot.store.database import Database, is_postgres
from sandbox.gate import prepare_needles

log = logging.getLogger(__name__)


def build_dashboard(settings: Settings, service: Service, role: Role) -> DashboardParts:
    """Return the dependencies of the dashboard.

    Signing in needs a token or a client of GitHub; a log line names the ways.

    Args:
        settings: All settings.
        service: The process of the service.
        role: Its work. Only a single process creates a token by itself.

    Raises:
        SettingsError: the token's file cannot be used.
    """
    options, parts = settings.dashboard, service.parts
    token = operator_token(options, settings.data_dir, create=role is Role.SERVE)
    sign_in = None
    if options.client_id and options.client_secret is not None:
        sign_in = GitHubSignIn(settings.github_api_url, options.client_id, options.client_secret)
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    address = (settings.public_url or f"http://{host}:{settings.port}").rstrip("/")
    ways = [f"the token in {FILE}"] if token is not None else []
    ways += ["GitHub"] if sign_in is not None else []
    log.info("dashboard at %s%s; sign in with %s", address, BASE, " or ".join(ways) or "no way yet")

    async def workers() -> tuple[Worker, ...]:
        return await _workers(parts.database)

    return DashboardParts(
        records=parts.missions,
        audit=parts.audit,
        lessons=StoredLessons(parts.database),
        registry=parts.registry,
        pauses=parts.pauses,
        queue=service.engine,
        blobs=parts.storage.blobs,
        sessions=Sessions(parts.database, parts.clock, options.session_hours),
        clock=parts.clock,
        options=options,
        token=token,
        sign_in=sign_in,
        public_url=settings.public_url,
        secrets=prepare_needles(settings.secrets),
        workers=workers,
    )


async def _workers(database: Database) -> tuple[Worker, ...]:
    """Return the processes with a heartbeat; SQLite has a single process and no heartbeats."""
    if not is_postgres(database.url):
        return ()
    query = "SELECT id, beat FROM executor ORDER BY id"
    rows = await database.do(lambda tx: tx.execute(query))
    return tuple(Worker(name=name, beat=beat.isoformat()) for name, beat in rows)
