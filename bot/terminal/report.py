"""metaagent report: what happened since a moment, for the person who comes in the morning."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from bot.clock import SystemClock
from bot.domain.counted import counted
from bot.domain.mission import Outcome
from bot.domain.mission_record import (
    MOST_PAGE,
    AuditEntry,
    MissionQuery,
    MissionRecord,
    Scoreboard,
)
from bot.domain.pause import Pause
from bot.domain.since import read_since
from bot.ledger.pauses import Pauses
from bot.registry.audit import MOST, StoredAudit
from bot.registry.missions import StoredMissions
from bot.settings import Settings
from bot.store.database import Database
from bot.terminal.missions import MissionsResult, with_database

MOST_MISSIONS = 2_000
"""Most missions that a report names; the figures cover all of them."""
_SECTIONS = (
    ("Fixed", (Outcome.FIXED, Outcome.PARTIAL)),
    ("Waiting for a person", (Outcome.NEEDS_HUMAN,)),
    ("Not the commit's fault", (Outcome.FLAKY, Outcome.BASE_RED, Outcome.INFRA)),
    ("Not fixed", (Outcome.NO_FIX, Outcome.BUDGET, Outcome.NOT_REPRODUCED)),
    ("Broken", (Outcome.ERROR, Outcome.ENV_UNBUILDABLE)),
)
"""Outcomes that a report names mission by mission; the others are only counted."""


def run_report(since: str, settings: Settings) -> MissionsResult:
    """Report the missions, decisions and writes since a moment.

    Args:
        since: An age such as `1d`, or a date.
        settings: All settings.

    Raises:
        UsageError: the moment is invalid.
        StoreError: there is no database here, or it cannot be used.
    """
    moment = read_since(since, SystemClock().now())

    async def read(database: Database) -> tuple[Any, ...]:
        missions = StoredMissions(database)
        return (
            await _missions(missions, moment),
            await missions.scoreboard(moment),
            await StoredAudit(database).entries(since=moment, limit=MOST),
            await Pauses(database).all(),
        )

    missions, board, audit, pauses = with_database(settings, read)
    data = {
        "since": moment,
        "outcomes": board.outcomes,
        "cost_usd": board.cost_usd,
        "missions": [one.model_dump(mode="json") for one in missions],
        "audit": [one.model_dump() for one in audit],
        "pauses": [one.in_words for one in pauses],
    }
    return MissionsResult(
        "\n".join(_text(moment, missions, board, audit=audit, pauses=pauses)), data
    )


async def _missions(records: StoredMissions, moment: str) -> tuple[MissionRecord, ...]:
    found: list[MissionRecord] = []
    before = None
    while len(found) < MOST_MISSIONS:
        page = await records.page(MissionQuery(since=moment, before=before, limit=MOST_PAGE))
        found += page.missions
        before = page.next
        if before is None:
            break
    return tuple(found)


def _text(
    moment: str,
    missions: tuple[MissionRecord, ...],
    board: Scoreboard,
    *,
    audit: tuple[AuditEntry, ...],
    pauses: tuple[Pause, ...],
) -> Iterator[str]:
    yield f"Since {moment[:16].replace('T', ' ')} UTC: {counted(board.missions, 'mission')} ended"
    outcomes = ", ".join(f"{count} {name or 'stopped'}" for name, count in board.outcomes.items())
    median = board.quantile(0.5)
    if outcomes:
        took = f"; median time {median:.0f} s" if median is not None else ""
        yield f"  {outcomes}{took}; models ${board.cost_usd:.2f}"
    active = [one for one in missions if one.outcome is None and one.state.value != "ended"]
    if active:
        states = Counter(one.state.value for one in active)
        yield "  now " + ", ".join(f"{count} {state}" for state, count in states.items())
    for title, chosen in _SECTIONS:
        shown = [one for one in missions if one.outcome in chosen]
        if shown:
            yield f"\n{title}"
            yield from map(_mission, shown)
    people = [one for one in audit if not one.action.startswith("github: ")]
    if people:
        yield "\nPeople"
        yield from (f"  {one.at[11:16]}  {one.actor}: {_action(one)}" for one in people[:50])
    writes = len(audit) - len(people)
    more = "at least " if len(audit) == MOST else ""
    yield f"\n{more}{counted(writes, 'write')} to GitHub"
    yield from (f"PAUSED: {one.in_words}" for one in pauses)


def _mission(one: MissionRecord) -> str:
    where = f" #{one.pull_request}" if one.pull_request else ""
    fate = f" ({one.fate})" if one.fate else ""
    named = one.outcome.value if one.outcome else ""
    told = one.title if one.outcome is Outcome.FIXED and one.title else one.reason or one.title
    return f"  {named:<9} {one.place}{where}{fate}: {told}\n            {one.mission_id}"


def _action(one: AuditEntry) -> str:
    about = " ".join(part for part in (one.subject, one.mission, one.result) if part)
    return f"{one.action} in {one.place or 'every place'}" + (f": {about}" if about else "")
