"""What is under way where, in one SQLite file: write-ahead logged, safe from several threads and processes."""

import asyncio
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from bot.domain.registry import FixState, InstallationState, LiveMission, OfferedFix, Proposal, Switch
from bot.errors import StoreError

Answer = TypeVar("Answer")
Row = TypeVar("Row", bound=BaseModel)
Value = str | int | None

BUSY_S = 30.0

_SCHEMA = """
create table if not exists live (
    id text primary key, repository integer not null, branch text, pull_request integer, since text not null,
    ended integer not null, value text not null
) strict;
create index if not exists live_by_repository on live (repository);
create table if not exists attempt (
    repository integer not null, branch text not null, mission text not null,
    primary key (repository, branch, mission)
) strict;
create table if not exists fix (
    id text primary key, repository integer not null, fingerprint text not null, patch text not null,
    state text not null, pull_request integer, at text not null, value text not null
) strict;
create index if not exists fix_by_repository on fix (repository, fingerprint);
create index if not exists fix_by_patch on fix (repository, patch);
create table if not exists proposal (
    id text not null, repository integer not null, pull_request integer, decided text not null, at text not null,
    value text not null, primary key (repository, id)
) strict;
create table if not exists switch (
    repository integer not null, pull_request integer not null, value text not null,
    primary key (repository, pull_request)
) strict;
create table if not exists installation (id integer primary key, value text not null) strict;
"""
_LAST = "installation"
"""The table made last: where it is, all are."""
_ALL = 0
"""Stands in a switch's key for the whole repository."""


class SqliteRegistry:
    """The registry of all repositories in one file; every question names one repository and sees no other.

    A connection lives for one call, so that threads, processes and event loops never share one.

    Args:
        path: The database's file; made with its folder when it is not there.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    # --- missions ------------------------------------------------------------------------------------

    async def begin(self, mission: LiveMission) -> None:
        """A mission waits or runs; the same id again replaces it, and is the same attempt."""

        def keep(database: sqlite3.Connection) -> None:
            row: dict[str, Value] = {
                "id": mission.mission_id,
                "repository": mission.repository.id,
                "branch": mission.branch,
            }
            row |= {"pull_request": mission.pull_request, "since": mission.since, "ended": 0}
            # Of those that ended only the newest of a branch is of use.
            spent = "delete from live where ended = 1 and repository = ? and (branch = ? or branch is null)"
            database.execute(spent, (mission.repository.id, mission.branch))
            _put(database, "live", row, mission)
            if mission.branch is not None and mission.requested_by is None:
                database.execute(
                    "insert or ignore into attempt (repository, branch, mission) values (?, ?, ?)",
                    (mission.repository.id, mission.branch, mission.mission_id),
                )

        await self._do(keep)

    async def end(self, mission_id: str) -> None:
        """It does not any more."""
        await self._do(lambda database: database.execute("update live set ended = 1 where id = ?", (mission_id,)))

    async def live(
        self, repository_id: int, *, branch: str | None = None, pull_request: int | None = None
    ) -> tuple[LiveMission, ...]:
        """Missions that wait or run, oldest first; on a branch or for a pull request when given."""
        wanted: dict[str, Value] = {"repository": repository_id, "branch": branch, "pull_request": pull_request}
        wanted["ended"] = 0
        return await self._do(lambda database: _find(database, LiveMission, "live", wanted, order="since, rowid"))

    async def last(self, repository_id: int, *, branch: str) -> LiveMission | None:
        """The newest mission begun on a branch, whether it ended or not."""
        wanted: dict[str, Value] = {"repository": repository_id, "branch": branch}
        order = "since desc, rowid desc"
        return next(
            iter(await self._do(lambda database: _find(database, LiveMission, "live", wanted, order=order))), None
        )

    async def attempts(self, repository_id: int, *, branch: str) -> int:
        """Automatic missions begun on a branch since a person last pushed or asked there."""
        query = "select count(*) from attempt where repository = ? and branch = ?"
        return int(await self._do(lambda database: database.execute(query, (repository_id, branch)).fetchone()[0]))

    async def forgive(self, repository_id: int, *, branch: str) -> None:
        """Count attempts on a branch from zero: a person pushed or asked."""
        query = "delete from attempt where repository = ? and branch = ?"
        await self._do(lambda database: database.execute(query, (repository_id, branch)))

    # --- fixes ---------------------------------------------------------------------------------------

    async def offer(self, fix: OfferedFix) -> None:
        """A fix was put before people, or its state is known better; the same key again replaces it."""
        row: dict[str, Value] = {
            "id": fix.key,
            "repository": fix.repository.id,
            "fingerprint": fix.fingerprint,
            "patch": fix.patch_id,
        }
        row |= {"state": fix.state.value, "pull_request": fix.pull_request, "at": fix.at}
        await self._do(lambda database: _put(database, "fix", row, fix))

    async def offered(
        self,
        repository_id: int,
        *,
        fingerprint: str | None = None,
        state: FixState | None = None,
        pull_request: int | None = None,
    ) -> tuple[OfferedFix, ...]:
        """Offered fixes, newest first, narrowed by what is given."""
        wanted: dict[str, Value] = {"repository": repository_id, "fingerprint": fingerprint}
        wanted |= {"state": state.value if state else None, "pull_request": pull_request}
        return await self._do(lambda database: _find(database, OfferedFix, "fix", wanted, order="at desc, rowid desc"))

    async def is_blocked(self, repository_id: int, patch_id: str) -> OfferedFix | None:
        """The fix of this very change that a person closed or undid, if there is one."""
        wanted: dict[str, Value] = {"repository": repository_id, "patch": patch_id}
        fixes = await self._do(lambda database: _find(database, OfferedFix, "fix", wanted, order="at desc, rowid desc"))
        return next((fix for fix in fixes if fix.state.blocks), None)

    # --- proposals -----------------------------------------------------------------------------------

    async def propose(self, proposal: Proposal) -> None:
        """Keep what a person has to decide; the same id again replaces it."""
        row: dict[str, Value] = {"id": proposal.proposal_id, "repository": proposal.repository.id, "at": proposal.at}
        row |= {"pull_request": proposal.pull_request, "decided": proposal.decided}
        await self._do(lambda database: _put(database, "proposal", row, proposal, key="repository, id"))

    async def proposal(
        self, repository_id: int, *, pull_request: int | None = None, proposal_id: str | None = None
    ) -> Proposal | None:
        """The newest open one for a pull request, or the one with this id."""
        if pull_request is None and proposal_id is None:
            return None
        wanted: dict[str, Value] = {"repository": repository_id, "pull_request": pull_request, "id": proposal_id}
        wanted |= {"decided": "" if proposal_id is None else None}
        order = "at desc, rowid desc"
        found = await self._do(lambda database: _find(database, Proposal, "proposal", wanted, order=order))
        return next(iter(found), None)

    # --- switches and installations ------------------------------------------------------------------

    async def switch(self, switch: Switch) -> None:
        """Turn off or on."""
        row: dict[str, Value] = {"repository": switch.repository_id, "pull_request": switch.pull_request or _ALL}
        await self._do(lambda database: _put(database, "switch", row, switch, key="repository, pull_request"))

    async def off(self, repository_id: int, pull_request: int | None = None) -> Switch | None:
        """The switch that keeps us off here: the pull request's own wins over the repository's."""
        wanted: dict[str, Value] = {"repository": repository_id}
        order = "pull_request desc"
        switches = await self._do(lambda database: _find(database, Switch, "switch", wanted, order=order))
        here = next((s for s in switches if s.pull_request in {None, pull_request}), None)
        return here if here and here.off else None

    async def note_installation(self, state: InstallationState) -> None:
        """What an installation is like now."""
        await self._do(lambda database: _put(database, "installation", {"id": state.installation_id}, state))

    async def installation(self, installation_id: int) -> InstallationState | None:
        """What was last known of it."""
        wanted: dict[str, Value] = {"id": installation_id}
        found = await self._do(lambda database: _find(database, InstallationState, "installation", wanted, order="id"))
        return next(iter(found), None)

    # --- inside --------------------------------------------------------------------------------------

    async def _do(self, call: Callable[[sqlite3.Connection], Answer]) -> Answer:
        """One call in one transaction, off the event loop."""
        return await asyncio.to_thread(self._transact, call)

    def _transact(self, call: Callable[[sqlite3.Connection], Answer]) -> Answer:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self._path, timeout=BUSY_S, isolation_level=None)) as database:
                _prepare(database)
                database.execute("begin immediate")
                answer = call(database)
                database.execute("commit")  # without it, closing rolls back
                return answer
        except (sqlite3.Error, OSError) as error:
            raise StoreError(f"the registry cannot be used ({error})", f"look at {self._path}") from error


def _prepare(database: sqlite3.Connection) -> None:
    """Make the tables when they are not there yet."""
    if database.execute("select 1 from sqlite_master where name = ?", (_LAST,)).fetchone() is not None:
        return
    database.execute("pragma journal_mode = wal")
    database.executescript(_SCHEMA)


def _put(database: sqlite3.Connection, table: str, row: dict[str, Value], value: BaseModel, *, key: str = "id") -> None:
    """A row, or the same row changed; it keeps its place in the order. Table and columns are literals of this file."""
    columns = [*row, "value"]
    changed = ", ".join(f"{column} = excluded.{column}" for column in columns)
    database.execute(
        f"insert into {table} ({', '.join(columns)}) values ({', '.join('?' * len(columns))})"  # noqa: S608
        f" on conflict ({key}) do update set {changed}",
        (*row.values(), value.model_dump_json()),
    )


def _find(
    database: sqlite3.Connection, kind: type[Row], table: str, wanted: dict[str, Value], *, order: str
) -> tuple[Row, ...]:
    """The rows that have what is wanted (None: anything). Table, columns and order are literals of this file."""
    given = {column: value for column, value in wanted.items() if value is not None}
    where = " and ".join(f"{column} = ?" for column in given)
    query = f"select value from {table} where {where} order by {order}"  # noqa: S608
    return _read(kind, database.execute(query, tuple(given.values())))


def _read(kind: type[Row], rows: Iterable[Sequence[str]]) -> tuple[Row, ...]:
    """The rows that can be read; one written by another version is as good as forgotten."""
    found = []
    for (value,) in rows:
        with suppress(ValidationError):
            found.append(kind.model_validate_json(value))
    return tuple(found)
