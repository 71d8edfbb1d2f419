"""metaagent db upgrade, backup and check: maintain the databases of a service."""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from bot.clock import SystemClock
from bot.errors import StoreError, UsageError
from bot.settings import Settings, environment
from bot.setup.finding import SetupFinding, render
from bot.store.backup import back_up, dump
from bot.store.database import Database, is_postgres
from bot.store.opening import open_database, own_url
from bot.store.reading import CHECK, View, file_of, files_of, viewing
from bot.store.schema.current import NONE, head, revision_of
from bot.store.takeover import OLD_FILES

LATE = timedelta(minutes=10)
"""Age of a waiting delivery after which no process seems to handle it."""
# Schemas of the engine (DBOS) and of our own tables.
ENGINE = "dbos"
OURS = "metaagent"
# Statuses of DBOS.
WAITING, RUNNING = ("ENQUEUED", "DELAYED"), ("PENDING",)

Look = Callable[[View], Iterator[SetupFinding]]


@dataclass(frozen=True)
class DbResult:
    """A text for people, and an object for programs."""

    text: str
    json_object: Any
    sound: bool = True


def run_db(action: str, target: str | None, settings: Settings) -> DbResult:
    """Upgrade, back up or check.

    Raises:
        UsageError: a target is missing, or there is one too many.
        StoreError: it cannot be done.
    """
    if (target is None) == (action == "backup"):
        raise UsageError(
            "`metaagent db backup TARGET` takes what it is to make; upgrade and check take nothing"
        )
    if action == "check":
        findings = check(settings)
        sound = all(finding.state != "missing" for finding in findings)
        return DbResult(render(findings), [finding.model_dump() for finding in findings], sound)
    done = upgrade(settings) if target is None else backup(settings, Path(target))
    return DbResult(done, {"done": done})


def upgrade(settings: Settings) -> str:
    """Upgrade our tables, as every start does, and report the changes.

    Raises:
        StoreError: it cannot be done; everything is as before.
    """
    bare = Database(own_url(settings.engine_url))
    before = bare.run(lambda tx: revision_of(tx.connection))
    bare.close()
    files = [name for name in OLD_FILES if (settings.data_dir / name).exists()]
    database = open_database(settings.engine_url, settings.data_dir)
    database.open()
    database.close()
    done = f"up to date at {head()}" if before == head() else f"brought from {before} to {head()}"
    taken = f", rows taken over from {', '.join(files)}" if files else ""
    return f"{database.name}: {done}{taken}"


def backup(settings: Settings, target: Path) -> str:
    """Copy the databases while the service runs, and report what was written.

    The target is a new folder, or a new file on PostgreSQL.

    Raises:
        StoreError: it cannot be made; there is nothing at the target then.
    """
    target = target.resolve()
    if target.exists():
        raise StoreError(
            f"{target} is there already", "name one that is not: no backup replaces another"
        )
    if is_postgres(settings.engine_url):
        asyncio.run(dump(settings.engine_url, target, environment()))
        return f"{target}: {Database(settings.engine_url).name}"
    # Our database is copied before the engine's: a delivery dispatched in between is repeated.
    # In the other order its mission would be lost.
    files = files_of(settings.engine_url)
    if not any(path.is_file() for path in files):
        raise StoreError(f"no database in {files[0].parent}", CHECK)
    back_up(files, target)
    return f"{target}: {', '.join(sorted(path.name for path in target.iterdir()))}"


def check(settings: Settings) -> tuple[SetupFinding, ...]:
    """Report the state of the databases, their schema version and stuck work; change nothing."""
    now = SystemClock().now()
    return (
        *_old_files(settings.data_dir),
        *_look_up(own_url(settings.engine_url), "our tables", lambda view: _ours(view, now)),
        *_look_up(settings.engine_url, "engine", _engine),
    )


def _old_files(folder: Path) -> Iterator[SetupFinding]:
    names = [name for name in OLD_FILES if (folder / name).exists()]
    if names:
        message = f"{', '.join(names)} of the first releases: the next start takes their rows over"
        yield SetupFinding(
            subject="old files",
            state="note",
            message=message,
            advice="or run `metaagent db upgrade` now",
        )


def _look_up(url: str, subject: str, look: Look) -> list[SetupFinding]:
    path = file_of(url)
    if path is not None and not path.is_file():
        return [
            SetupFinding(
                subject=subject,
                state="note",
                message=f"{path} is not there yet; the first start makes it",
            )
        ]
    try:
        with viewing(url) as view:
            if damage := view.damage():
                message = f"{path} is damaged: {damage}"
                return [
                    SetupFinding(
                        subject=subject,
                        state="missing",
                        message=message,
                        advice="restore the last backup",
                    )
                ]
            return list(look(view))
    except StoreError as error:
        return [
            SetupFinding(
                subject=subject, state="missing", message=error.message, advice=error.advice
            )
        ]


def _ours(view: View, now: datetime) -> Iterator[SetupFinding]:
    yield _revision(view)
    if table := view.table(OURS, "delivery"):
        query = f"SELECT count(*), min(received_at) FROM {table} WHERE state = 'waiting'"  # noqa: S608 (our own names)
        count, oldest = view.ask(query)[0]
        late = bool(count) and now - datetime.fromisoformat(oldest) > LATE
        message = f"{count} wait to be handed on" + (
            f", the oldest since {oldest}" if count else ""
        )
        advice = (
            "they are not dispatched: check that `metaagent serve` or `web` runs, and its log"
            if late
            else ""
        )
        yield SetupFinding(
            subject="deliveries", state="missing" if late else "ok", message=message, advice=advice
        )
    if table := view.table(OURS, "call"):
        day = now.date().isoformat()
        what, open_before = "count(*), coalesce(sum(counted), 0)", f"open = 1 AND day < '{day}'"
        query = f"SELECT {what} FROM {table} WHERE {open_before}"  # noqa: S608 (our own names)
        count, money = view.ask(query)[0]
        message = (
            f"{count} reserved before today and never settled, ${money:.2f}; they count as spent"
        )
        yield SetupFinding(subject="model calls", state="note" if count else "ok", message=message)


def _revision(view: View) -> SetupFinding:
    table = view.table(OURS, "alembic_version")
    found = str(view.ask(f"SELECT version_num FROM {table}")[0][0]) if table else NONE  # noqa: S608 (our own names)
    message = f"at {found}" if found == head() else f"at {found}, this program has {head()}"
    # Revisions are zero-padded (`v0006`), so text order is their order.
    if found > head():
        advice = "start the newer version again, or restore the backup made before it"
        return SetupFinding(subject="our tables", state="missing", message=message, advice=advice)
    advice = "the next start upgrades them, or `metaagent db upgrade`" if found != head() else ""
    return SetupFinding(
        subject="our tables", state="note" if advice else "ok", message=message, advice=advice
    )


def _engine(view: View) -> Iterator[SetupFinding]:
    table, versions = view.table(ENGINE, "workflow_status"), view.table(ENGINE, "dbos_migrations")
    if table is None or versions is None:
        yield SetupFinding(
            subject="engine", state="note", message="no tables yet; the first worker makes them"
        )
        return
    schema = view.ask(f"SELECT version FROM {versions}")[0][0]  # noqa: S608 (our own names)
    yield SetupFinding(subject="engine", state="ok", message=f"its tables are at {schema}")
    wanted = f"{table} WHERE name = 'mission' GROUP BY status"
    query = f"SELECT status, count(*), min(created_at) FROM {wanted}"  # noqa: S608 (our own names)
    counts = {
        # DBOS stores times in milliseconds.
        str(status): (int(count), int(oldest) // 1000)
        for status, count, oldest in view.ask(query)
    }
    for states, word in ((WAITING, "wait"), (RUNNING, "run")):
        chosen = [counts[state] for state in states if state in counts]
        since = (
            f", the oldest since {datetime.fromtimestamp(min(o for _, o in chosen), UTC)}"
            if chosen
            else ""
        )
        yield SetupFinding(
            subject="missions", state="ok", message=f"{sum(c for c, _ in chosen)} {word}{since}"
        )
    given_up = view.ask(f"SELECT count(*) FROM {table} WHERE workflow_uuid LIKE 'given up:%'")[0][0]  # noqa: S608
    if given_up:
        message = f"{given_up} given up: each took its process with it again and again"
        yield SetupFinding(
            subject="missions",
            state="note",
            message=message,
            advice="the log says which, and how they ended",
        )
