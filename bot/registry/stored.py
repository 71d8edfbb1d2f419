"""The registry in our database: missions, fixes, proposals, switches, installations."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from bot.domain.registry import (
    FixState,
    InstallationState,
    LiveMission,
    OfferedFix,
    Proposal,
    Switch,
)
from bot.registry.missions import set_fate
from bot.store.database import Database, Transaction

Row = TypeVar("Row", bound=BaseModel)
Value = str | int | None

_ATTEMPTS_OF_NO_MISSION = """
DELETE FROM attempt WHERE NOT EXISTS (
    SELECT 1 FROM live WHERE live.repository = attempt.repository AND live.branch = attempt.branch
)
"""
_ALL = 0
"""Key of a switch for the whole repository, in place of a pull request."""


class StoredRegistry:
    """The registry of all repositories; every query is limited to one repository.

    Every method may raise a StoreError.

    Args:
        database: The database of our own tables.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    # --- missions --------------------------------------------------------------------------------

    async def begin(self, mission: LiveMission) -> None:
        """Record an active mission.

        The same id replaces the row, and counts as the same attempt.
        """

        def keep(tx: Transaction) -> None:
            here: dict[str, Value] = {"repository": mission.repository.id, "branch": mission.branch}
            # Of ended missions, only the newest on a branch is needed.
            spent = (
                "DELETE FROM live WHERE ended = 1 AND repository = :repository"
                " AND (branch = :branch OR branch IS NULL)"
            )
            tx.execute(spent, here)
            row = here | {
                "id": mission.mission_id,
                "pull_request": mission.pull_request,
                "since": mission.since,
            }
            _upsert(tx, "live", row | {"ended": 0}, mission)
            if mission.branch is not None and mission.requested_by is None:
                attempt = (
                    "INSERT INTO attempt (repository, branch, mission)"
                    " VALUES (:repository, :branch, :mission) ON CONFLICT DO NOTHING"
                )
                tx.execute(attempt, here | {"mission": mission.mission_id})

        await self._database.do(keep)

    async def end(self, mission_id: str) -> None:
        """Record that a mission no longer waits or runs."""
        ended = "UPDATE live SET ended = 1 WHERE id = :id"
        await self._database.do(lambda tx: tx.change(ended, {"id": mission_id}))

    async def live(
        self, repository_id: int, *, branch: str | None = None, pull_request: int | None = None
    ) -> tuple[LiveMission, ...]:
        """Return active missions, oldest first, optionally of one branch or pull request."""
        wanted: dict[str, Value] = {
            "repository": repository_id,
            "branch": branch,
            "pull_request": pull_request,
        }
        wanted["ended"] = 0
        return await self._find(LiveMission, "live", wanted, order="since, seq")

    async def last(self, repository_id: int, *, branch: str) -> LiveMission | None:
        """Return the newest mission on a branch, active or ended."""
        wanted: dict[str, Value] = {"repository": repository_id, "branch": branch}
        return next(
            iter(await self._find(LiveMission, "live", wanted, order="since DESC, seq DESC")), None
        )

    async def attempts(self, repository_id: int, *, branch: str) -> int:
        """Return the automatic missions begun on a branch since a person last pushed or asked."""
        query = "SELECT count(*) FROM attempt WHERE repository = :repository AND branch = :branch"
        [(count,)] = await self._database.do(
            lambda tx: tx.execute(query, {"repository": repository_id, "branch": branch})
        )
        return int(count)

    async def forgive(self, repository_id: int, *, branch: str) -> None:
        """Reset the attempts on a branch, after a person's push or request."""
        attempts = "DELETE FROM attempt WHERE repository = :repository AND branch = :branch"
        await self._database.do(
            lambda tx: tx.change(attempts, {"repository": repository_id, "branch": branch})
        )

    async def forget(self, before: str, *, answers_before: str) -> int:
        """Delete old rows: ended missions, attempts on branches without any, and decided proposals.

        Args:
            before: ISO 8601 time; ended missions that began before it are deleted.
            answers_before: ISO 8601 time; fixes and proposals from before it are deleted unless
                open. A rejected change may be offered again after that.

        Returns:
            The number of deleted rows.
        """
        spent = (
            ("DELETE FROM live WHERE ended = 1 AND since < :moment", before),
            (_ATTEMPTS_OF_NO_MISSION, None),
            ("DELETE FROM fix WHERE state <> 'open' AND at < :moment", answers_before),
            ("DELETE FROM proposal WHERE decided <> '' AND at < :moment", answers_before),
        )
        return await self._database.do(
            lambda tx: sum(
                tx.change(query, {"moment": moment} if moment else {}) for query, moment in spent
            )
        )

    # --- fixes -----------------------------------------------------------------------------------

    async def offer(self, fix: OfferedFix) -> None:
        """Record an offered fix; the same key replaces it."""
        await self._database.do(lambda tx: _write_fix(tx, fix))

    async def revise(
        self, key: str, become: Callable[[OfferedFix], OfferedFix]
    ) -> OfferedFix | None:
        """Update a fix in a transaction; one written by another version stays unchanged."""

        def look_and_write(tx: Transaction) -> OfferedFix | None:
            # On SQLite, a write transaction locks the whole database anyway.
            lock = "FOR UPDATE" if tx.is_postgres else ""
            query = f"SELECT value FROM fix WHERE id = :id {lock}"  # noqa: S608 (literals)
            for known in _read(OfferedFix, tx.execute(query, {"id": key})):
                revised = become(known)
                if revised != known:
                    _write_fix(tx, revised)
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
        """Return offered fixes that match, newest first."""
        wanted: dict[str, Value] = {"repository": repository_id, "fingerprint": fingerprint}
        wanted |= {"state": state.value if state else None, "pull_request": pull_request}
        return await self._find(OfferedFix, "fix", wanted, order="at DESC, seq DESC")

    async def is_blocked(self, repository_id: int, patch_id: str) -> OfferedFix | None:
        """Return the fix with this patch that a person closed or reverted, or None."""
        wanted: dict[str, Value] = {"repository": repository_id, "patch": patch_id}
        fixes = await self._find(OfferedFix, "fix", wanted, order="at DESC, seq DESC")
        return next((fix for fix in fixes if fix.state.blocks), None)

    # --- proposals -------------------------------------------------------------------------------

    async def propose(self, proposal: Proposal) -> None:
        """Record a proposal for people to decide; the same id replaces it."""
        row: dict[str, Value] = {
            "id": proposal.proposal_id,
            "repository": proposal.repository.id,
            "at": proposal.at,
        }
        row |= {"pull_request": proposal.pull_request, "decided": proposal.decided}
        await self._database.do(
            lambda tx: _upsert(tx, "proposal", row, proposal, key="repository, id")
        )

    async def proposal(
        self, repository_id: int, *, pull_request: int | None = None, proposal_id: str | None = None
    ) -> Proposal | None:
        """Return the newest open proposal for a pull request, or the one with this id."""
        if pull_request is None and proposal_id is None:
            return None
        wanted: dict[str, Value] = {
            "repository": repository_id,
            "pull_request": pull_request,
            "id": proposal_id,
        }
        wanted |= {"decided": "" if proposal_id is None else None}
        return next(
            iter(await self._find(Proposal, "proposal", wanted, order="at DESC, seq DESC")), None
        )

    async def undecided(self, repository_id: int) -> tuple[Proposal, ...]:
        """Return the 50 newest open proposals."""
        wanted: dict[str, Value] = {"repository": repository_id, "decided": ""}
        # They hold whole files, and one that no person decides is never forgotten.
        return await self._find(Proposal, "proposal", wanted, order="at DESC, seq DESC LIMIT 50")

    # --- switches and installations --------------------------------------------------------------

    async def switch(self, switch: Switch) -> None:
        """Turn MetaAgent off or on."""
        row: dict[str, Value] = {
            "repository": switch.repository_id,
            "pull_request": switch.pull_request or _ALL,
        }
        await self._database.do(
            lambda tx: _upsert(tx, "switch", row, switch, key="repository, pull_request")
        )

    async def off(self, repository_id: int, pull_request: int | None = None) -> Switch | None:
        """Return the switch that turns us off here; a pull request's wins over the repository's."""
        wanted: dict[str, Value] = {"repository": repository_id}
        switches = await self._find(Switch, "switch", wanted, order="pull_request DESC")
        here = next((s for s in switches if s.pull_request in {None, pull_request}), None)
        return here if here and here.off else None

    async def switched_off(self) -> dict[int, Switch]:
        """Return the switches that turn us off for whole repositories, by repository."""
        wanted: dict[str, Value] = {"pull_request": _ALL}
        found = await self._find(Switch, "switch", wanted, order="repository")
        return {one.repository_id: one for one in found if one.off}

    async def turned_off(self, repository_id: int) -> tuple[Switch, ...]:
        """Return the switches that turn us off here and in single pull requests."""
        wanted: dict[str, Value] = {"repository": repository_id}
        found = await self._find(Switch, "switch", wanted, order="pull_request")
        return tuple(one for one in found if one.off)

    async def note_installation(self, state: InstallationState) -> None:
        """Record the state of an installation."""
        await self._database.do(
            lambda tx: _upsert(tx, "installation", {"id": state.installation_id}, state)
        )

    async def installation(self, installation_id: int) -> InstallationState | None:
        """Return the last recorded state of an installation, or None."""
        wanted: dict[str, Value] = {"id": installation_id}
        return next(
            iter(await self._find(InstallationState, "installation", wanted, order="id")), None
        )

    # --- inside ----------------------------------------------------------------------------------

    async def _find(
        self, kind: type[Row], table: str, wanted: dict[str, Value], *, order: str
    ) -> tuple[Row, ...]:
        """Return matching rows.

        None matches anything. Table, columns and order must be literals.
        """
        given = {column: value for column, value in wanted.items() if value is not None}
        where = " AND ".join(f"{column} = :{column}" for column in given)
        query = f"SELECT value FROM {table} WHERE {where} ORDER BY {order}"  # noqa: S608
        return _read(kind, await self._database.do(lambda tx: tx.execute(query, given)))


def _write_fix(tx: Transaction, fix: OfferedFix) -> None:
    """Record a fix, and its state as the fate of its mission."""
    _upsert(tx, "fix", _search_columns(fix), fix)
    set_fate(tx, fix.mission_id, fix.state.value)


def _search_columns(fix: OfferedFix) -> dict[str, Value]:
    """Return the searchable columns of a fix."""
    return {
        "id": fix.key,
        "repository": fix.repository.id,
        "fingerprint": fix.fingerprint,
        "patch": fix.patch_id,
        "state": fix.state.value,
        "pull_request": fix.pull_request,
        "at": fix.at,
    }


def _upsert(
    tx: Transaction, table: str, row: dict[str, Value], value: BaseModel, *, key: str = "id"
) -> None:
    """Insert or update a row; an update keeps its order. Table and columns must be literals."""
    columns = [*row, "value"]
    gaps, changed = (
        ", ".join(form.format(column) for column in columns)
        for form in (":{0}", "{0} = excluded.{0}")
    )
    tx.execute(
        f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({gaps})"  # noqa: S608
        f" ON CONFLICT ({key}) DO UPDATE SET {changed}",
        row | {"value": value.model_dump_json()},
    )


def _read(kind: type[Row], rows: Sequence[Sequence[str]]) -> tuple[Row, ...]:
    """Return the readable rows; those of another version are skipped."""
    found = []
    for (value,) in rows:
        with suppress(ValidationError):
            found.append(kind.model_validate_json(value))
    return tuple(found)
