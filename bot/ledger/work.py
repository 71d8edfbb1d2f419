"""Run time of missions in the ledger: reserved before each step, then booked."""

import asyncio
import secrets
from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import date, timedelta
from typing import TypeVar

from bot.domain.account import Account, Grant, Kind, Quota, Scope, build_account
from bot.domain.model import Spend
from bot.domain.pause import EVERYWHERE, enclosing_places
from bot.domain.policy import RepositoryPolicy
from bot.domain.request import MissionRequest
from bot.errors import BudgetSpent, Paused
from bot.ledger.calls import CALLS_DAYS, total_spend
from bot.ledger.counting import (
    PATIENCE_S,
    Excess,
    booked,
    booking_columns,
    ceilings_by_scope,
    first_excess,
    lock_ceilings,
    retry_while_unreachable,
)
from bot.ledger.pauses import pause_before
from bot.ports import Clock
from bot.store.database import Database, Transaction

Answer = TypeVar("Answer")

LEAST_S = 1.0
"""Shortest useful time for a step, in seconds."""
LOOK_S = 2.0
"""Interval of checks whether a pause has ended, in seconds."""

_MISSION: Mapping[Kind, float] = {Kind.MISSIONS: 1.0}


class WorkMeters:
    """Creates the meter of each mission.

    Args:
        database: The database of our own tables.
        quota: The service's limits for one day.
        clock: The clock for the current day.
        patience_s: Longest wait for an unreachable server, in seconds.
    """

    def __init__(
        self, database: Database, quota: Quota, clock: Clock, *, patience_s: float = PATIENCE_S
    ) -> None:
        self._database = database
        self._quota = quota
        self._clock = clock
        self._patience_s = patience_s

    def of(self, request: MissionRequest, policy: RepositoryPolicy) -> "WorkMeter":
        """Return the meter of a mission; repeated calls use the same bookings."""
        account = build_account(request, policy, self._quota, self._clock.now().date())
        places = enclosing_places(request.repository) if request.repository else (EVERYWHERE,)
        return WorkMeter(self._database, account, places=places, patience_s=self._patience_s)

    async def give_back(self, mission_id: str) -> None:
        """Release the reservation of a mission that is neither waiting nor running.

        A later request for it counts as another attempt.

        Raises:
            StoreError: the ledger cannot be used.
        """
        query = "UPDATE work SET set_aside = 0, begun = 0 WHERE mission = :mission"
        await self._database.do(
            lambda transaction: transaction.change(query, {"mission": mission_id})
        )


class WorkMeter:
    """Books the run time of one mission.

    It counts on the day it started; the times of all its attempts add up.

    All the time a step may take is reserved before it; the unused part is released before the next
    step. A reservation of a dead process stays until the mission continues or is given up.

    Args:
        database: The database of our own tables.
        account: The account of the mission.
        places: The places of the mission; while one of them is paused, it does not start.
        patience_s: Longest wait for an unreachable server, in seconds.
    """

    def __init__(
        self,
        database: Database,
        account: Account,
        *,
        places: Collection[str] = (EVERYWHERE,),
        patience_s: float = PATIENCE_S,
    ) -> None:
        self._database = database
        self._account = account
        self._places = places
        self._patience_s = patience_s
        self._token = secrets.token_hex(8)
        """Identifies one process and attempt; its presence in the row means that it runs the
        mission."""
        self._has_held = False
        """True once the mission was ours; after losing it we never take it back."""

    async def before(self, spent_s: float, own: Grant) -> Grant:
        """Return the time granted for the next step.

        The first call waits while everything is paused, and counts the mission.

        Args:
            spent_s: The time of all steps so far, in seconds.
            own: The time left in the mission's own budget.

        Raises:
            BudgetSpent: no mission or no time is left within a limit.
            Paused: it has not started, and its account or repository is paused.
            StoreError: the ledger cannot be used.
        """
        while True:
            grant = await self._do(lambda transaction: self._grant(transaction, spent_s, own))
            if grant is not None:
                self._has_held = True
                return grant
            await asyncio.sleep(LOOK_S)

    async def close(self, spent_s: float) -> None:
        """Release the reservation and book the used time.

        Nothing changes if another process runs the mission now.

        If every step came from the journal, this releases the reservation of a dead process.
        """
        holder = self._token if self._has_held else None
        await self._do(
            lambda transaction: _book(transaction, self._account, spent_s, 0.0, holder=holder)
        )

    async def bill(self) -> Spend:
        """Return the model costs of the mission, including unfinished steps of dead processes."""
        return await self._do(
            lambda found: total_spend(found, self._account, Scope.MISSION, settled=False)
        )

    async def _do(self, call: Callable[[Transaction], Answer]) -> Answer:
        return await retry_while_unreachable(self._database, call, self._patience_s)

    def _grant(self, transaction: Transaction, spent_s: float, own: Grant) -> Grant | None:
        """Return the time for the next step; None while no mission may start."""
        account = self._account
        lock_ceilings(transaction, account)
        query = "SELECT day, pull_request, begun, holder FROM work WHERE mission = :mission"
        known = next(iter(transaction.execute(query, {"mission": account.mission})), None)
        is_ours = known is not None and known[3] == self._token
        if self._has_held and not is_ours:
            # Another process runs it now. Our results are refused, so this time is not the
            # mission's and is not booked.
            return own
        # A mission that runs past midnight stays in the account of the day it started.
        if known is not None and (is_ours or known[2]):
            account = account.with_(day=known[0], pull_request=known[1])
        elif not _may_begin(transaction, self._places):
            return None
        elif known is not None:
            _begin_again(transaction, account)
        else:
            _begin(transaction, account)
        if not is_ours:
            _take(transaction, account, spent_s, self._token)
        _book(transaction, account, spent_s, 0.0)
        grant = min((own, *_left(transaction, account)), key=lambda one: one.seconds)
        # The mission's own budget may leave less; the mission then ends by itself.
        if grant.seconds < min(LEAST_S, own.seconds):
            raise BudgetSpent(
                f"{grant.limit} is spent or reserved by running missions",
                "raise the limit, or wait",
            )
        _book(transaction, account, spent_s, grant.seconds)
        return grant


def _may_begin(transaction: Transaction, places: Collection[str]) -> bool:
    """Return True if nothing is paused.

    A mission waits while everything is paused, and is refused for a narrower pause.
    """
    pause = pause_before(transaction, places)
    if pause is not None and pause.place != EVERYWHERE:
        raise Paused(pause.in_words, pause.advice)
    return pause is None


def _begin(transaction: Transaction, account: Account) -> None:
    """Count a new mission."""
    if (excess := first_excess(transaction, account, "work", _MISSION)) is not None:
        raise BudgetSpent(_describe_excess(excess), excess.advice)
    old = (date.fromisoformat(account.day) - timedelta(days=CALLS_DAYS)).isoformat()
    transaction.change("DELETE FROM work WHERE day < :old", {"old": old})
    row = booking_columns(account)
    names, gaps = ", ".join(row), ", ".join(f":{name}" for name in row)
    transaction.change(f"INSERT INTO work ({names}) VALUES ({gaps})", row)  # noqa: S608 (our own names)


def _begin_again(transaction: Transaction, account: Account) -> None:
    """Carry over the time of an earlier attempt to the day and pull request of this one."""
    query = (
        "UPDATE work SET earlier = earlier + seconds, seconds = 0, day = :day,"
        " pull_request = :pull_request WHERE mission = :mission"
    )
    transaction.change(
        query, {name: booking_columns(account)[name] for name in ("mission", "day", "pull_request")}
    )


def _take(transaction: Transaction, account: Account, spent_s: float, token: str) -> None:
    """Mark the mission as run by this process.

    Booked time that no journaled step accounts for belongs to an interrupted step. That step runs
    again, and its time adds up.
    """
    query = (
        "UPDATE work SET begun = 1, holder = :token,"
        " earlier = CASE WHEN seconds > :spent THEN earlier + seconds - :spent ELSE earlier END,"
        " seconds = :spent WHERE mission = :mission"
    )
    transaction.change(query, {"token": token, "spent": spent_s, "mission": account.mission})


def _describe_excess(excess: Excess) -> str:
    return (
        f"{excess.ceiling.name} allows {excess.ceiling.most:.0f} missions, "
        f"and {excess.counted:.0f} were started"
    )


def _left(transaction: Transaction, account: Account) -> Iterator[Grant]:
    """Yield the time that each ceiling leaves."""
    for scope, ceilings in ceilings_by_scope(account, {Kind.SECONDS}).items():
        taken = booked(transaction, account, scope, "work")[Kind.SECONDS]
        for one in ceilings:
            yield Grant(
                seconds=one.most - taken,
                limit=f"the time that {one.name} allows ({one.most:.0f} s)",
            )


def _book(
    transaction: Transaction,
    account: Account,
    spent_s: float,
    set_aside: float,
    *,
    holder: str | None = None,
) -> None:
    """Book the used time and the reservation; with a holder, only while it runs the mission."""
    query = (
        "UPDATE work SET seconds = CASE WHEN seconds > :spent THEN seconds ELSE :spent END,"
        " set_aside = :aside WHERE mission = :mission"
    )
    query += "" if holder is None else " AND holder = :holder"
    values = {"spent": spent_s, "aside": set_aside, "mission": account.mission, "holder": holder}
    transaction.change(query, values)
