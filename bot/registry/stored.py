"""What is under way where, in the database of our own tables."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from bot.domain.registry import FixState, InstallationState, LiveMission, OfferedFix, Proposal, Switch
from bot.store.database import Database, Transaction

Row = TypeVar("Row", bound=BaseModel)
Value = str | int | None

_ATTEMPTS_OF_NO_MISSION = """
DELETE FROM attempt WHERE NOT EXISTS (
    SELECT 1 FROM live WHERE live.repository = attempt.repository AND live.branch = attempt.branch
)
"""
_ALL = 0
"""Stands in a switch's key for the whole repository."""


class StoredRegistry:
    """The registry of all repositories; every question names one repository and sees no other.

    Every method may raise a StoreError.

    Args:
        database: Where it is kept.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    # --- missions ------------------------------------------------------------------------------------

    async def begin(self, mission: LiveMission) -> None:
        """A mission waits or runs; the same id again replaces it, and is the same attempt."""

        def keep(tx: Transaction) -> None:
            here: dict[str, Value] = {"repository": mission.repository.id, "branch": mission.branch}
            # Of those that ended only the newest of a branch is of use.
            spent = (
                "DELETE FROM live WHERE ended = 1 AND repository = :repository AND (branch = :branch OR branch IS NULL)"
            )
            tx.execute(spent, here)
            row = here | {"id": mission.mission_id, "pull_request": mission.pull_request, "since": mission.since}
            _put(tx, "live", row | {"ended": 0}, mission)
            if mission.branch is not None and mission.requested_by is None:
                attempt = "INSERT INTO attempt (repository, branch, mission) VALUES (:repository, :branch, :mission)"
                tx.execute(f"{attempt} ON CONFLICT DO NOTHING", here | {"mission": mission.mission_id})

        await self._database.do(keep)

    async def end(self, mission_id: str) -> None:
        """It does not any more."""
        ended = "UPDATE live SET ended = 1 WHERE id = :id"
        await self._database.do(lambda tx: tx.change(ended, {"id": mission_id}))

    async def live(
        self, repository_id: int, *, branch: str | None = None, pull_request: int | None = None
    ) -> tuple[LiveMission, ...]:
        """Missions that wait or run, oldest first; on a branch or for a pull request when given."""
        wanted: dict[str, Value] = {"repository": repository_id, "branch": branch, "pull_request": pull_request}
        wanted["ended"] = 0
        return await self._find(LiveMission, "live", wanted, order="since, seq")

    async def last(self, repository_id: int, *, branch: str) -> LiveMission | None:
        """The newest mission begun on a branch, whether it ended or not."""
        wanted: dict[str, Value] = {"repository": repository_id, "branch": branch}
        return next(iter(await self._find(LiveMission, "live", wanted, order="since DESC, seq DESC")), None)

    async def attempts(self, repository_id: int, *, branch: str) -> int:
        """Automatic missions begun on a branch since a person last pushed or asked there."""
        query = "SELECT count(*) FROM attempt WHERE repository = :repository AND branch = :branch"
        [(count,)] = await self._database.do(
            lambda tx: tx.execute(query, {"repository": repository_id, "branch": branch})
        )
        return int(count)

    async def forgive(self, repository_id: int, *, branch: str) -> None:
        """Count attempts on a branch from zero: a person pushed or asked."""
        attempts = "DELETE FROM attempt WHERE repository = :repository AND branch = :branch"
        await self._database.do(lambda tx: tx.change(attempts, {"repository": repository_id, "branch": branch}))

    async def forget(self, before: str, *, answers_before: str) -> int:
        """Drop what is old: missions that ended, attempts of branches without any, and what people have answered.

        Args:
            before: Missions that had begun by then (ISO 8601).
            answers_before: Fixes and proposals of which nothing is open, put before people by then; a change that was
                rejected may be offered again from then on.

        Returns:
            How many rows.
        """
        spent = (
            ("DELETE FROM live WHERE ended = 1 AND since < :moment", before),
            (_ATTEMPTS_OF_NO_MISSION, None),
            ("DELETE FROM fix WHERE state <> 'open' AND at < :moment", answers_before),
            ("DELETE FROM proposal WHERE decided <> '' AND at < :moment", answers_before),
        )
        return await self._database.do(
            lambda tx: sum(tx.change(query, {"moment": moment} if moment else {}) for query, moment in spent)
        )

    # --- fixes ---------------------------------------------------------------------------------------

    async def offer(self, fix: OfferedFix) -> None:
        """A fix was put before people, or its state is known better; the same key again replaces it."""
        await self._database.do(lambda tx: _put(tx, "fix", _columns_of(fix), fix))

    async def revise(self, key: str, become: Callable[[OfferedFix], OfferedFix]) -> OfferedFix | None:
        """Change a fix as it stands at this moment; what another version wrote stays as it is."""

        def look_and_write(tx: Transaction) -> OfferedFix | None:
            # On SQLite a transaction has the whole database from its start.
            lock = "FOR UPDATE" if tx.is_postgres else ""
            query = f"SELECT value FROM fix WHERE id = :id {lock}"  # noqa: S608 (our own words)
            for known in _read(OfferedFix, tx.execute(query, {"id": key})):
                revised = become(known)
                if revised != known:
                    _put(tx, "fix", _columns_of(revised), revised)
                    return revised
            return None

        return await self._database.do(look_and_write)

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
        return await self._find(OfferedFix, "fix", wanted, order="at DESC, seq DESC")

    async def is_blocked(self, repository_id: int, patch_id: str) -> OfferedFix | None:
        """The fix of this very change that a person closed or undid, if there is one."""
        wanted: dict[str, Value] = {"repository": repository_id, "patch": patch_id}
        fixes = await self._find(OfferedFix, "fix", wanted, order="at DESC, seq DESC")
        return next((fix for fix in fixes if fix.state.blocks), None)

    # --- proposals -----------------------------------------------------------------------------------

    async def propose(self, proposal: Proposal) -> None:
        """Keep what a person has to decide; the same id again replaces it."""
        row: dict[str, Value] = {"id": proposal.proposal_id, "repository": proposal.repository.id, "at": proposal.at}
        row |= {"pull_request": proposal.pull_request, "decided": proposal.decided}
        await self._database.do(lambda tx: _put(tx, "proposal", row, proposal, key="repository, id"))

    async def proposal(
        self, repository_id: int, *, pull_request: int | None = None, proposal_id: str | None = None
    ) -> Proposal | None:
        """The newest open one for a pull request, or the one with this id."""
        if pull_request is None and proposal_id is None:
            return None
        wanted: dict[str, Value] = {"repository": repository_id, "pull_request": pull_request, "id": proposal_id}
        wanted |= {"decided": "" if proposal_id is None else None}
        return next(iter(await self._find(Proposal, "proposal", wanted, order="at DESC, seq DESC")), None)

    # --- switches and installations ------------------------------------------------------------------

    async def switch(self, switch: Switch) -> None:
        """Turn off or on."""
        row: dict[str, Value] = {"repository": switch.repository_id, "pull_request": switch.pull_request or _ALL}
        await self._database.do(lambda tx: _put(tx, "switch", row, switch, key="repository, pull_request"))

    async def off(self, repository_id: int, pull_request: int | None = None) -> Switch | None:
        """The switch that keeps us off here: the pull request's own wins over the repository's."""
        wanted: dict[str, Value] = {"repository": repository_id}
        switches = await self._find(Switch, "switch", wanted, order="pull_request DESC")
        here = next((s for s in switches if s.pull_request in {None, pull_request}), None)
        return here if here and here.off else None

    async def note_installation(self, state: InstallationState) -> None:
        """What an installation is like now."""
        await self._database.do(lambda tx: _put(tx, "installation", {"id": state.installation_id}, state))

    async def installation(self, installation_id: int) -> InstallationState | None:
        """What was last known of it."""
        wanted: dict[str, Value] = {"id": installation_id}
        return next(iter(await self._find(InstallationState, "installation", wanted, order="id")), None)

    # --- inside --------------------------------------------------------------------------------------

    async def _find(self, kind: type[Row], table: str, wanted: dict[str, Value], *, order: str) -> tuple[Row, ...]:
        """The rows that have what is wanted (None: anything). Table, columns and order are literals of this file."""
        given = {column: value for column, value in wanted.items() if value is not None}
        where = " AND ".join(f"{column} = :{column}" for column in given)
        query = f"SELECT value FROM {table} WHERE {where} ORDER BY {order}"  # noqa: S608
        return _read(kind, await self._database.do(lambda tx: tx.execute(query, given)))


def _columns_of(fix: OfferedFix) -> dict[str, Value]:
    """What a fix is found by."""
    return {
        "id": fix.key,
        "repository": fix.repository.id,
        "fingerprint": fix.fingerprint,
        "patch": fix.patch_id,
        "state": fix.state.value,
        "pull_request": fix.pull_request,
        "at": fix.at,
    }


def _put(tx: Transaction, table: str, row: dict[str, Value], value: BaseModel, *, key: str = "id") -> None:
    """A row, or the same row changed; it keeps its place in the order. Table and columns are literals of this file."""
    columns = [*row, "value"]
    gaps, changed = (", ".join(form.format(column) for column in columns) for form in (":{0}", "{0} = excluded.{0}"))
    tx.execute(
        f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({gaps})"  # noqa: S608
        f" ON CONFLICT ({key}) DO UPDATE SET {changed}",
        row | {"value": value.model_dump_json()},
    )


def _read(kind: type[Row], rows: Sequence[Sequence[str]]) -> tuple[Row, ...]:
    """The rows that can be read; one written by another version is as good as forgotten."""
    found = []
    for (value,) in rows:
        with suppress(ValidationError):
            found.append(kind.model_validate_json(value))
    return tuple(found)
