"""The table of missions in our database: written by missions, read by dashboard and commands."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from bot.domain.mission import Outcome
from bot.domain.mission_record import (
    ClassTally,
    Detail,
    MissionPage,
    MissionQuery,
    MissionRecord,
    RecordState,
    RepositoryTally,
    Scoreboard,
    StageMark,
)
from bot.domain.request import IMPROVES
from bot.ports import Readable
from bot.store.database import Database, Transaction

DETAIL_CHARS = 512_000
"""Longest stored detail of one mission, in characters of JSON; a longer one is not stored."""
STAGES = 500
"""Most stages that are read for one mission."""
SAMPLE = 5_000
"""Newest missions of which the scoreboard reads the time to the verdict."""
KINDS, DAYS, PLACES = 12, 60, 500
"""Most classes of failures, days and repositories in one answer."""

_RENAMED = {"trigger": "trigger_name", "check": "check_name"}
"""Columns whose plain names are words of SQL."""
_FIELDS = tuple(MissionRecord.model_fields)
_COLUMNS = ", ".join(_RENAMED.get(name, name) for name in _FIELDS)
_GAPS = ", ".join(f":{name}" for name in _FIELDS)
_INSERT = f"INSERT INTO mission ({_COLUMNS}) VALUES ({_GAPS})"  # noqa: S608 -- our own names
_KEPT_AT_END = frozenset({"mission_id", "queued_at", "began_at", "tries", "fate"})
"""Columns that the end of a mission does not change: they are known better before it."""
_AT_END = ", ".join(
    f"{_RENAMED.get(name, name)} = excluded.{_RENAMED.get(name, name)}"
    for name in _FIELDS
    if name not in _KEPT_AT_END
)
_FIXED = "CASE WHEN outcome = 'FIXED' THEN 1 ELSE 0 END"


class StoredMissions:
    """The missions of all repositories. Every method may raise a StoreError.

    Args:
        database: The database of our own tables.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    # --- writing ---------------------------------------------------------------------------------

    async def enqueue(self, record: MissionRecord) -> None:
        """Record a waiting mission; an ended one with the same id starts over as the newest."""

        def insert(tx: Transaction) -> None:
            named = {"id": record.mission_id}
            known = tx.execute("SELECT state, tries FROM mission WHERE mission_id = :id", named)
            if known and known[0][0] != RecordState.ENDED:
                return
            tries = record.tries
            if known:
                # A new row, because rows are listed in the order in which they were added.
                tx.change("DELETE FROM mission WHERE mission_id = :id", named)
                tx.change("DELETE FROM mission_stage WHERE mission = :id", named)
                tries = known[0][1] + 1
            tx.execute(f"{_INSERT} ON CONFLICT DO NOTHING", _row(record.with_(tries=tries)))

        await self._database.do(insert)

    async def stage(self, mission_id: str, mark: StageMark) -> None:
        """Record the start of a stage; the first one begins the mission."""
        begin = (
            "UPDATE mission SET state = 'running',"
            " began_at = CASE WHEN began_at = '' THEN :at ELSE began_at END"
            " WHERE mission_id = :id AND state <> 'ended'"
        )
        insert = (
            "INSERT INTO mission_stage (mission, name, at, detail)"
            " VALUES (:id, :name, :at, :detail)"
        )
        row = {"id": mission_id, **mark.model_dump()}

        def write(tx: Transaction) -> None:
            tx.change(begin, {"id": mission_id, "at": mark.at})
            tx.change(insert, row)

        await self._database.do(write)

    async def finish(self, record: MissionRecord, detail: Detail | None = None) -> None:
        """Record the end of a mission; repeating it changes nothing, and a fate stays."""
        outcome = record.outcome.value if record.outcome else ""

        def write(tx: Transaction) -> None:
            tx.alone(f"mission.{record.mission_id}")
            query = "SELECT outcome FROM mission WHERE mission_id = :id AND state = 'ended'"
            counted = any(one for (one,) in tx.execute(query, {"id": record.mission_id}))
            ended = f"{_INSERT} ON CONFLICT (mission_id) DO UPDATE SET {_AT_END}"
            tx.execute(ended, _row(record.with_(state=RecordState.ENDED)))
            if detail is not None:
                _write_detail(tx, record.mission_id, detail)
            if not counted:
                _count(tx, outcome, record.seconds, record.cost_usd)

        await self._database.do(write)

    async def stop(
        self, mission_id: str, at: str, outcome: Outcome | None = None, reason: str = ""
    ) -> None:
        """Record the end of a mission that did not report itself; a known outcome stays."""
        ended = (
            "UPDATE mission SET state = 'ended', outcome = :outcome, reason = :reason,"
            " ended_at = CASE WHEN ended_at = '' THEN :at ELSE ended_at END"
            " WHERE mission_id = :id AND outcome IS NULL"
        )
        row = {"id": mission_id, "at": at, "reason": reason}

        def write(tx: Transaction) -> None:
            changed = tx.change(ended, row | {"outcome": outcome.value if outcome else None})
            if changed and outcome is not None:
                _count(tx, outcome.value, 0.0, 0.0)

        await self._database.do(write)

    async def ask_stop(self, mission_id: str, by: str) -> bool:
        """Ask the workers to stop a mission; return False if it has ended or is unknown."""
        ask = "UPDATE mission SET stop_by = :by WHERE mission_id = :id AND state <> 'ended'"
        row = {"id": mission_id, "by": by}
        return bool(await self._database.do(lambda tx: tx.change(ask, row)))

    async def asked_to_stop(self) -> dict[str, str]:
        """Return the active missions that are to stop, with the person who asked."""
        query = (
            "SELECT mission_id, stop_by FROM mission"
            " WHERE state IN ('waiting', 'running') AND stop_by <> ''"
        )
        rows: Any = await self._database.do(lambda tx: tx.execute(query))
        return dict(rows)

    async def forget(self, before: str, *, details_before: str) -> int:
        """Delete old rows; return their number.

        Args:
            before: ISO 8601; missions that ended before it are deleted.
            details_before: The same for details and stages, which are large and hold source code.
        """
        old = "SELECT mission_id FROM mission WHERE state = 'ended' AND ended_at < :moment"
        spent = (
            (f"DELETE FROM mission_detail WHERE id IN ({old})", details_before),  # noqa: S608
            (f"DELETE FROM mission_stage WHERE mission IN ({old})", details_before),  # noqa: S608
            ("DELETE FROM mission WHERE state = 'ended' AND ended_at < :moment", before),
            ("DELETE FROM audit WHERE at < :moment", before),
        )
        return await self._database.do(
            lambda tx: sum(tx.change(query, {"moment": moment}) for query, moment in spent)
        )

    # --- reading ---------------------------------------------------------------------------------

    async def find(self, mission_id: str, readable: Readable = None) -> MissionRecord | None:
        """Return one mission; None if it is unknown or not readable."""
        query = f"SELECT {_COLUMNS} FROM mission WHERE mission_id = :id{only_readable(readable)}"  # noqa: S608
        rows = await self._database.do(lambda tx: tx.execute(query, {"id": mission_id}))
        return _record(rows[0]) if rows else None

    async def stages(self, mission_id: str) -> tuple[StageMark, ...]:
        """Return the stages of a mission, in order."""
        query = (
            "SELECT name, at, detail FROM mission_stage WHERE mission = :id ORDER BY seq LIMIT :n"
        )
        rows = await self._database.do(
            lambda tx: tx.execute(query, {"id": mission_id, "n": STAGES})
        )
        return tuple(StageMark(name=name, at=at, detail=detail) for name, at, detail in rows)

    async def detail(self, mission_id: str) -> Detail | None:
        """Return the stored detail of a mission; None once it has expired."""
        query = "SELECT value FROM mission_detail WHERE id = :id"
        rows = await self._database.do(lambda tx: tx.execute(query, {"id": mission_id}))
        found = json.loads(rows[0][0]) if rows else None
        return found if isinstance(found, dict) else None

    async def page(self, query: MissionQuery, readable: Readable = None) -> MissionPage:
        """Return a page of missions, newest first."""
        wanted = {
            "repository = :repository": query.repository,
            "lower(place) = :place": query.place.lower() or None,
            "outcome = :outcome": query.outcome.value if query.outcome else None,
            "state = :state": query.state.value if query.state else None,
            "mission_id LIKE :improves": query.improves or None,
            "mission_id NOT LIKE :improves": query.improves is False or None,
            "(ended_at >= :since OR (state <> 'ended' AND queued_at >= :since))": query.since
            or None,
            "seq < :before": query.before,
        }
        conditions = [condition for condition, value in wanted.items() if value is not None]
        where = f"{' AND '.join(conditions) or '1 = 1'}{only_readable(readable)}"
        # One more than asked for shows whether another page follows.
        sql = f"SELECT seq, {_COLUMNS} FROM mission WHERE {where} ORDER BY seq DESC LIMIT :most"  # noqa: S608
        values = {
            "repository": query.repository,
            "place": query.place.lower(),
            "outcome": query.outcome.value if query.outcome else None,
            "state": query.state.value if query.state else None,
            "improves": f"%{IMPROVES}%",
            "since": query.since,
            "before": query.before,
            "most": query.limit + 1,
        }
        rows = await self._database.do(lambda tx: tx.execute(sql, values))
        shown = rows[: query.limit]
        following = shown[-1][0] if len(rows) > query.limit else None
        return MissionPage(missions=tuple(_record(row[1:]) for row in shown), next=following)

    async def repositories(self, readable: Readable = None) -> tuple[RepositoryTally, ...]:
        """Return the figures of each repository under its latest name, the latest mission first."""
        query = f"""
        SELECT tally.repository, mission.place, missions, fixed, flaky, merged, refused, newest
        FROM mission JOIN (
            SELECT repository, max(seq) AS latest, count(*) AS missions, sum({_FIXED}) AS fixed,
                sum(CASE WHEN outcome = 'FLAKY' THEN 1 ELSE 0 END) AS flaky,
                sum(CASE WHEN fate = 'merged' THEN 1 ELSE 0 END) AS merged,
                sum(CASE WHEN fate IN ('closed', 'reverted') THEN 1 ELSE 0 END) AS refused,
                max(queued_at) AS newest
            FROM mission WHERE 1 = 1{only_readable(readable)}
            GROUP BY repository, CASE WHEN repository IS NULL THEN place END
        ) AS tally ON mission.seq = tally.latest
        ORDER BY latest DESC LIMIT {PLACES}
        """  # noqa: S608 -- literals and numbers
        names = tuple(RepositoryTally.model_fields)
        rows = await self._database.do(lambda tx: tx.execute(query))
        return tuple(
            RepositoryTally.model_validate(dict(zip(names, row, strict=True))) for row in rows
        )

    async def count_fixes(self, place: str) -> tuple[int, int]:
        """Return the open fixes and the fixed missions of a repository by its full name."""
        query = f"""
        SELECT coalesce(sum(CASE WHEN fate = 'open' THEN 1 ELSE 0 END), 0),
            coalesce(sum({_FIXED}), 0)
        FROM mission WHERE repository = (
            SELECT repository FROM mission WHERE place = :place AND repository IS NOT NULL
            ORDER BY seq DESC LIMIT 1
        )
        """  # noqa: S608 -- literals
        (row,) = await self._database.do(lambda tx: tx.execute(query, {"place": place}))
        return int(row[0]), int(row[1])

    async def scoreboard(self, since: str = "", readable: Readable = None) -> Scoreboard:
        """Return the figures of missions that ended from a time on."""
        where = f"state = 'ended' AND ended_at >= :since{only_readable(readable)}"
        return await self._database.do(lambda tx: _scoreboard(tx, where, since))

    async def totals(self) -> dict[str, tuple[int, float, float]]:
        """Return missions, seconds and cost by outcome since the first one; they never decrease."""
        query = "SELECT outcome, missions, seconds, cost_usd FROM mission_total ORDER BY outcome"
        return {
            row[0]: tuple(row[1:]) for row in await self._database.do(lambda t: t.execute(query))
        }

    async def under_way(self) -> dict[str, tuple[int, str]]:
        """Return the number of waiting and of running missions, and since when the oldest is."""
        query = (
            "SELECT state, count(*), min(queued_at) FROM mission"
            " WHERE state IN ('waiting', 'running') GROUP BY state"
        )
        rows = await self._database.do(lambda tx: tx.execute(query))
        return {state: (count, since) for state, count, since in rows}


def set_fate(tx: Transaction, mission_id: str, fate: str) -> None:
    """Record what became of a mission's fix, in the transaction that records the fix."""
    query = "UPDATE mission SET fate = :fate WHERE mission_id = :id"
    tx.change(query, {"id": mission_id, "fate": fate})


def _scoreboard(tx: Transaction, where: str, since: str) -> Scoreboard:
    values = {"since": since}

    def ask(columns: str, rest: str) -> Any:
        return tx.execute(f"SELECT {columns} FROM mission WHERE {where} {rest}", values)  # noqa: S608

    outcomes = ask("coalesce(outcome, ''), count(*)", "GROUP BY outcome ORDER BY count(*) DESC")
    fates = ask("fate, count(*)", "AND fate <> '' GROUP BY fate")
    kinds = ask(
        f"kind, count(*), sum({_FIXED})",
        f"AND kind <> '' GROUP BY kind ORDER BY count(*) DESC, kind LIMIT {KINDS}",
    )
    days = ask(
        f"substr(ended_at, 1, 10), count(*), sum({_FIXED})",
        f"GROUP BY substr(ended_at, 1, 10) ORDER BY substr(ended_at, 1, 10) DESC LIMIT {DAYS}",
    )
    seconds = ask("seconds", f"AND seconds > 0 ORDER BY ended_at DESC LIMIT {SAMPLE}")
    [(cost,)] = ask("coalesce(sum(cost_usd), 0)", "")
    return Scoreboard(
        outcomes=dict(outcomes),
        fates=dict(fates),
        kinds=tuple(ClassTally(kind=kind, missions=n, fixed=fixed) for kind, n, fixed in kinds),
        days={day: (count, fixed) for day, count, fixed in reversed(days)},
        seconds=tuple(sorted(one for (one,) in seconds)),
        cost_usd=cost,
    )


def _write_detail(tx: Transaction, mission_id: str, detail: Detail) -> None:
    value = json.dumps(detail)
    if len(value) > DETAIL_CHARS:
        return
    insert = (
        "INSERT INTO mission_detail (id, value) VALUES (:id, :value)"
        " ON CONFLICT (id) DO UPDATE SET value = excluded.value"
    )
    tx.execute(insert, {"id": mission_id, "value": value})


def _count(tx: Transaction, outcome: str, seconds: float, cost_usd: float | None) -> None:
    """Add one mission to the totals, which survive the deletion of its row."""
    add = """
    INSERT INTO mission_total (outcome, missions, seconds, cost_usd)
    VALUES (:outcome, 1, :seconds, :cost)
    ON CONFLICT (outcome) DO UPDATE SET missions = mission_total.missions + 1,
        seconds = mission_total.seconds + excluded.seconds,
        cost_usd = mission_total.cost_usd + excluded.cost_usd
    """
    tx.execute(add, {"outcome": outcome, "seconds": seconds, "cost": cost_usd or 0.0})


def only_readable(readable: Readable) -> str:
    """Return the condition for readable repositories; a folder of this machine is in none."""
    if readable is None:
        return ""
    # Ids are numbers, so they need no placeholders, of which a statement takes few.
    ids = ", ".join(str(int(one)) for one in readable) or "NULL"
    return f" AND repository IN ({ids})"


def _row(record: MissionRecord) -> Mapping[str, Any]:
    return record.model_dump(mode="json")


def _record(row: Sequence[Any]) -> MissionRecord:
    return MissionRecord.model_validate(dict(zip(_FIELDS, row, strict=True)))
