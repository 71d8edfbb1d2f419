"""metaagent missions, show and cancel: look at the table of missions, and stop one."""

import asyncio
import getpass
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any, TypeVar

from bot.clock import SystemClock
from bot.domain.mission import Outcome
from bot.domain.mission_record import (
    MOST_PAGE,
    AuditEntry,
    MissionQuery,
    MissionRecord,
    MissionView,
    RecordState,
)
from bot.domain.since import read_since
from bot.errors import StoreError, UsageError
from bot.publish.markdown import SafeWriter
from bot.registry.audit import StoredAudit
from bot.registry.missions import StoredMissions
from bot.registry.view import view_mission
from bot.settings import Settings
from bot.store.database import Database
from bot.store.opening import open_database
from bot.store.reading import CHECK, files_of

Answer = TypeVar("Answer")

_SHOWN = tuple(one for one in MissionRecord.model_fields if one not in {"mission_id", "title"})
"""Fields that a mission's text lists."""


@dataclass(frozen=True)
class MissionsOrder:
    """The options of `metaagent missions`."""

    repository: str = ""
    outcome: str = ""
    state: str = ""
    since: str = ""
    before: int | None = None
    limit: int = 20


@dataclass(frozen=True)
class MissionsResult:
    """A text for people, and an object for programs."""

    text: str
    json_object: Any
    found: bool = True


def run_missions(order: MissionsOrder, settings: Settings) -> MissionsResult:
    """List missions, newest first.

    Raises:
        UsageError: an option is invalid.
        StoreError: there is no database here, or it cannot be used.
    """
    query = _query(order)
    page = with_database(settings, lambda database: StoredMissions(database).page(query))
    lines = [_line(one) for one in page.missions]
    if page.next is not None:
        lines.append(f"older ones: --before {page.next}")
    text = "\n".join(lines) or "no missions"
    return MissionsResult(text, page.model_dump(mode="json"), found=bool(page.missions))


def run_show(mission_id: str, settings: Settings) -> MissionsResult:
    """Show one mission: its record, stages and detail.

    Raises:
        UsageError: no mission has this id.
        StoreError: there is no database here, or it cannot be used.
    """

    async def read(database: Database) -> MissionView:
        missions = StoredMissions(database)
        record = await _existing(mission_id, missions)
        return await view_mission(record, missions, StoredAudit(database))

    found = with_database(settings, read)
    return MissionsResult("\n".join(_describe(found)), found.model_dump(mode="json"))


def run_cancel(mission_id: str, settings: Settings) -> MissionsResult:
    """Ask the workers to stop a mission; they do within seconds, and report it.

    Raises:
        UsageError: no mission has this id, or it has ended.
        StoreError: there is no database here, or it cannot be used.
    """

    async def ask(database: Database) -> MissionRecord:
        missions = StoredMissions(database)
        record = await _existing(mission_id, missions)
        if not await missions.ask_stop(mission_id, f"the operator ({_user()})"):
            raise UsageError(
                f"{mission_id!a} has ended: {record.verdict}", "there is nothing to stop"
            )
        entry = AuditEntry(
            at=SystemClock().now().isoformat(),
            actor=f"operator ({_user()})",
            action="cancel",
            repository=record.repository,
            place=record.place,
            mission=mission_id,
        )
        await StoredAudit(database).note(entry)
        return record

    record = with_database(settings, ask)
    text = f"{mission_id} is being stopped; it was {record.verdict}"
    return MissionsResult(text, {"mission_id": mission_id, "was": record.verdict})


def with_database(settings: Settings, ask: Callable[[Database], Awaitable[Answer]]) -> Answer:
    """Call a function with the service's database, and close it.

    Raises:
        StoreError: there is no database here, or it cannot be used.
    """
    files = files_of(settings.engine_url)
    if files and not any(path.is_file() for path in files):
        raise StoreError(f"no database in {files[0].parent}", CHECK)

    async def run() -> Answer:
        with closing(open_database(settings.engine_url, settings.data_dir)) as database:
            return await ask(database)

    return asyncio.run(run())


async def _existing(mission_id: str, missions: StoredMissions) -> MissionRecord:
    record = await missions.find(mission_id)
    if record is None:
        raise UsageError(f"no mission has the id {mission_id!a}", "`metaagent missions` lists them")
    return record


def _user() -> str:
    try:
        return SafeWriter().line(getpass.getuser(), cap=60)
    except (KeyError, OSError):  # a container's user may have no name
        return "unknown"


def _query(order: MissionsOrder) -> MissionQuery:
    if not 1 <= order.limit <= MOST_PAGE:
        raise UsageError(f"--limit must be between 1 and {MOST_PAGE}")
    return MissionQuery(
        place=order.repository,
        outcome=Outcome(order.outcome) if order.outcome else None,
        state=RecordState(order.state) if order.state else None,
        since=read_since(order.since, SystemClock().now()),
        before=order.before,
        limit=order.limit,
    )


def _line(record: MissionRecord) -> str:
    """Return two lines about a mission."""
    fate = f", {record.fate}" if record.fate else ""
    at = (record.ended_at or record.queued_at)[:16].replace("T", " ")
    told = record.title or record.reason or f"{record.check} on {record.branch or 'a commit'}"
    return f"{at}  {record.verdict}{fate}  {record.place}\n    {told}\n    {record.mission_id}"


def _describe(found: MissionView) -> Iterator[str]:
    yield _line(found)
    detail = found.detail or {}
    for name in _SHOWN:
        value = getattr(found, name)
        if value not in {None, "", 0.0}:
            yield f"  {name.replace('_', ' '):<16} {value}"
    if found.stages:
        yield "\nStages"
        for one in found.stages:
            yield f"  {one.at[11:19]}  {one.name:<12} {one.detail}".rstrip()
    if found.audit:
        yield "\nActions, newest first"
        yield from (
            f"  {one.at[:19]}  {one.actor}  {one.action}  {one.result}" for one in found.audit
        )
    if detail.get("cause"):
        yield f"\nCause\n  {detail['cause']}"
    if detail.get("diff"):
        yield f"\nChange\n{detail['diff']}"
