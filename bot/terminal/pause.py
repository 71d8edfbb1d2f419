"""metaagent pause and resume: start no new missions, everywhere or in one place."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

from bot.clock import SystemClock
from bot.domain.mission_record import AuditEntry
from bot.domain.pause import Pause
from bot.domain.registry import LiveMission
from bot.errors import StoreError, UsageError
from bot.ledger.pauses import Pauses
from bot.registry.audit import StoredAudit
from bot.settings import Settings
from bot.store.database import Database
from bot.store.opening import open_database
from bot.store.reading import CHECK, files_of

LOOK_S = 1.0
"""Interval between two checks for active missions, in seconds."""
TELL_S = 30.0
"""Interval between two progress lines, in seconds."""


@dataclass(frozen=True)
class PauseOrder:
    """The options of `metaagent pause`."""

    place: str = ""
    now: bool = False
    drain: bool = False
    why: str = ""


def run_pause(order: PauseOrder, settings: Settings, tell: Callable[[str], None]) -> str:
    """Pause; with `drain`, return after the last mission there has ended.

    Args:
        order: The options.
        settings: All settings, with the database's location.
        tell: Prints progress lines.

    Raises:
        UsageError: the place is invalid.
        StoreError: there is no database here, or it cannot be used.
    """
    return asyncio.run(_pause(order, settings, tell))


def run_resume(place: str, settings: Settings) -> str:
    """Let missions start again.

    Raises:
        UsageError: the place is invalid.
        StoreError: there is no database here, or it cannot be used.
    """
    return asyncio.run(_resume(_a_place(place), settings))


async def _pause(order: PauseOrder, settings: Settings, tell: Callable[[str], None]) -> str:
    pause = Pause(
        place=_a_place(order.place),
        now=order.now,
        why=order.why.strip(),
        at=SystemClock().now().isoformat(),
    )
    database = _open(settings)
    try:
        pauses = Pauses(database)
        await pauses.set(pause)
        await _note(database, "pause", pause.place, pause.why)
        left = await _running(pauses, pause)
        if order.drain and left:
            await _drain(pauses, pause, tell)
            left = ()
    finally:
        database.close()
    named = (
        f"{pause.in_words}; `metaagent resume{f' {pause.place}' if pause.place else ''}` lets "
        "missions begin again"
    )
    rest = ", ".join(mission.mission_id for mission in left) or "no mission"
    return (
        f"{named}\n{rest} "
        f"{'is being stopped' if pause.now and left else 'runs on' if left else 'runs'}"
    )


async def _resume(place: str, settings: Settings) -> str:
    database = _open(settings)
    try:
        was = await Pauses(database).end(place)
        await _note(database, "resume", place)
        left = await Pauses(database).all()
    finally:
        database.close()
    said = (
        f"missions begin again in {place or 'every place'}"
        if was
        else f"{place or 'everything'} was not paused"
    )
    return "\n".join([said, *(f"still: {one.in_words}" for one in left)])


async def _note(database: Database, action: str, place: str, why: str = "") -> None:
    """Add the operator's action to the audit log."""
    at = SystemClock().now().isoformat()
    entry = AuditEntry(at=at, actor="operator", action=action, place=place, subject=why)
    await StoredAudit(database).note(entry)


def _open(settings: Settings) -> Database:
    """Open the service's database.

    A missing one is an error: pausing a new, empty database would stop nothing.
    """
    files = files_of(settings.engine_url)
    if files and not any(path.is_file() for path in files):
        raise StoreError(f"no service keeps its database in {files[0].parent}", CHECK)
    return open_database(settings.engine_url, settings.data_dir)


async def _drain(pauses: Pauses, pause: Pause, tell: Callable[[str], None]) -> None:
    told_at = float("-inf")
    while left := await _running(pauses, pause):
        if time.monotonic() - told_at >= TELL_S:
            tell(f"waiting for {', '.join(mission.mission_id for mission in left)}")
            told_at = time.monotonic()
        await asyncio.sleep(LOOK_S)


async def _running(pauses: Pauses, pause: Pause) -> tuple[LiveMission, ...]:
    return tuple(mission for mission in await pauses.running() if pause.covers(mission.repository))


def _a_place(text: str) -> str:
    place = text.strip().lower()
    if place.count("/") > 1 or place != place.strip("/") or any(c.isspace() for c in place):
        raise UsageError(
            f"{text} is no place", "say an account (acme) or a repository (acme/shop), or nothing"
        )
    return place
