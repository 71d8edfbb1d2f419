"""Missions and their seconds in the ledger: counted when they begin, set aside before each step, booked after it."""

import asyncio
import secrets
from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import date, timedelta
from typing import TypeVar

from bot.domain.account import Account, Grant, Kind, Quota, Scope, account_of
from bot.domain.model import Spend
from bot.domain.pause import EVERYWHERE, places_of
from bot.domain.policy import RepositoryPolicy
from bot.domain.request import MissionRequest
from bot.errors import BudgetSpent, Paused
from bot.ledger.calls import CALLS_DAYS, spend_of
from bot.ledger.counting import (
    PATIENCE_S,
    Excess,
    alone,
    booked,
    ceilings_by_scope,
    first_excess,
    patiently,
    place_of,
)
from bot.ledger.pauses import pause_before
from bot.ports import Clock
from bot.store.database import Database, Transaction

Answer = TypeVar("Answer")

LEAST_S = 1.0
"""Less time than this is none."""
LOOK_S = 2.0
"""Between two looks whether a pause is over."""

_MISSION: Mapping[Kind, float] = {Kind.MISSIONS: 1.0}


class WorkMeters:
    """Gives every mission its meter.

    Args:
        database: Of our own tables.
        quota: What missions may take in a day.
        clock: Says which day it is.
        patience_s: So long a server that is away is waited for.
    """

    def __init__(self, database: Database, quota: Quota, clock: Clock, *, patience_s: float = PATIENCE_S) -> None:
        self._database = database
        self._quota = quota
        self._clock = clock
        self._patience_s = patience_s

    def of(self, request: MissionRequest, policy: RepositoryPolicy) -> "WorkMeter":
        """The meter of a mission; the same bookings whenever it is asked for."""
        account = account_of(request, policy, self._quota, self._clock.now().date())
        places = places_of(request.repository) if request.repository else (EVERYWHERE,)
        return WorkMeter(self._database, account, places=places, patience_s=self._patience_s)

    async def give_back(self, mission_id: str) -> None:
        """A mission neither waits nor runs any more: what a process that died had set aside for it is free again.

        Should it be asked for again, that is another try.

        Raises:
            StoreError: the ledger cannot be used.
        """
        query = "UPDATE work SET set_aside = 0, begun = 0 WHERE mission = :mission"
        await self._database.do(lambda transaction: transaction.change(query, {"mission": mission_id}))


class WorkMeter:
    """Books one mission. It is counted on the day it began, however long it waits; the time of all its tries adds up.

    Before a step all the time that the step could take is set aside; what it did not take is given back before the
    next one. A process that dies leaves it set aside until the mission goes on somewhere, or is given up.

    Args:
        database: Of our own tables.
        account: Of the mission.
        places: Where it is; while one of them is paused it does not begin.
        patience_s: So long a server that is away is waited for.
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
        """Of one process at one try; who has it in the mission's row works on the mission."""
        self._has_held = False
        """Whether it was ours; then it does not become ours again."""

    async def before(self, spent_s: float, own: Grant) -> Grant:
        """How long the next step may take. The first one waits while everything is paused, and counts the mission.

        Args:
            spent_s: What the steps so far have taken.
            own: What the mission itself has left.

        Raises:
            BudgetSpent: a limit leaves no mission, or no time.
            Paused: it has not begun, and its account or repository is paused.
            StoreError: the ledger cannot be used.
        """
        while True:
            grant = await self._do(lambda transaction: self._granted(transaction, spent_s, own))
            if grant is not None:
                self._has_held = True
                return grant
            await asyncio.sleep(LOOK_S)

    async def close(self, spent_s: float) -> None:
        """Give back what is set aside, and book what was taken; not of a mission that another process works on by now.

        Where every step was remembered nothing was asked for here, and what a dead process had set aside is given back.
        """
        holder = self._token if self._has_held else None
        await self._do(lambda transaction: _book(transaction, self._account, spent_s, 0.0, holder=holder))

    async def bill(self) -> Spend:
        """What models cost the mission, also in steps that a dead process did not finish."""
        return await self._do(lambda found: spend_of(found, self._account, Scope.MISSION, settled=False))

    async def _do(self, call: Callable[[Transaction], Answer]) -> Answer:
        return await patiently(self._database, call, self._patience_s)

    def _granted(self, transaction: Transaction, spent_s: float, own: Grant) -> Grant | None:
        """Time for the next step; None while no mission may begin."""
        account = self._account
        alone(transaction, account)
        query = "SELECT day, pull_request, begun, holder FROM work WHERE mission = :mission"
        known = next(iter(transaction.execute(query, {"mission": account.mission})), None)
        is_ours = known is not None and known[3] == self._token
        if self._has_held and not is_ours:
            # Another process works on it by now. What is found out here is refused, so this time is not the mission's.
            return own
        if known is not None and (is_ours or known[2]):
            account = account.with_(day=known[0], pull_request=known[1])
        elif not _may_begin(transaction, self._places):
            return None
        elif known is not None:
            _begin_anew(transaction, account)
        else:
            _begin(transaction, account)
        if not is_ours:
            _take(transaction, account, spent_s, self._token)
        _book(transaction, account, spent_s, 0.0)
        grant = min((own, *_left(transaction, account)), key=lambda one: one.seconds)
        if grant.seconds < min(LEAST_S, own.seconds):
            raise BudgetSpent(f"{grant.limit} is spent, or set aside for what runs", "raise the limit, or wait")
        _book(transaction, account, spent_s, grant.seconds)
        return grant


def _may_begin(transaction: Transaction, places: Collection[str]) -> bool:
    """Whether nothing is paused there; a mission waits for everything, and is refused for less, as at its admission."""
    pause = pause_before(transaction, places)
    if pause is not None and pause.place != EVERYWHERE:
        raise Paused(pause.in_words, pause.advice)
    return pause is None


def _begin(transaction: Transaction, account: Account) -> None:
    """Count a mission."""
    if (excess := first_excess(transaction, account, "work", _MISSION)) is not None:
        raise BudgetSpent(_said(excess), excess.advice)
    old = (date.fromisoformat(account.day) - timedelta(days=CALLS_DAYS)).isoformat()
    transaction.change("DELETE FROM work WHERE day < :old", {"old": old})
    row = place_of(account)
    names, gaps = ", ".join(row), ", ".join(f":{name}" for name in row)
    transaction.change(f"INSERT INTO work ({names}) VALUES ({gaps})", row)  # noqa: S608 (our own names)


def _begin_anew(transaction: Transaction, account: Account) -> None:
    """What an earlier try took goes on counting, now where this one counts."""
    query = (
        "UPDATE work SET earlier = earlier + seconds, seconds = 0, day = :day, pull_request = :pull_request"
        " WHERE mission = :mission"
    )
    transaction.change(query, {name: place_of(account)[name] for name in ("mission", "day", "pull_request")})


def _take(transaction: Transaction, account: Account, spent_s: float, token: str) -> None:
    """From here on the mission is worked on here.

    What is booked and not remembered was taken by a step that was broken off: that step is taken again, and its time
    adds up.
    """
    query = (
        "UPDATE work SET begun = 1, holder = :token,"
        " earlier = CASE WHEN seconds > :spent THEN earlier + seconds - :spent ELSE earlier END, seconds = :spent"
        " WHERE mission = :mission"
    )
    transaction.change(query, {"token": token, "spent": spent_s, "mission": account.mission})


def _said(excess: Excess) -> str:
    return f"{excess.ceiling.name} allows {excess.ceiling.most:.0f} missions, and {excess.counted:.0f} were begun"


def _left(transaction: Transaction, account: Account) -> Iterator[Grant]:
    """The time that each ceiling leaves."""
    for scope, ceilings in ceilings_by_scope(account, {Kind.SECONDS}).items():
        taken = booked(transaction, account, scope, "work")[Kind.SECONDS]
        for one in ceilings:
            yield Grant(seconds=one.most - taken, limit=f"what {one.name} allows ({one.most:.0f} s)")


def _book(
    transaction: Transaction, account: Account, spent_s: float, set_aside: float, *, holder: str | None = None
) -> None:
    """Book what was taken, and set aside; only while it is this holder's, where one is given."""
    query = (
        "UPDATE work SET seconds = CASE WHEN seconds > :spent THEN seconds ELSE :spent END, set_aside = :aside"
        " WHERE mission = :mission"
    )
    query += "" if holder is None else " AND holder = :holder"
    values = {"spent": spent_s, "aside": set_aside, "mission": account.mission, "holder": holder}
    transaction.change(query, values)
