"""How much of each kind is booked in each scope, and which ceiling one more booking would break."""

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping
from typing import TypeVar

from bot.domain.account import Account, Ceiling, Kind, Scope
from bot.errors import StoreError
from bot.store.database import Database, Transaction, is_postgres
from sandbox.types import Frozen

Answer = TypeVar("Answer")

WHERE: Mapping[Scope | None, str] = {
    Scope.MISSION: "mission = :mission",
    Scope.PULL_REQUEST: "repository = :repository AND pull_request = :pull_request",
    Scope.DAY: "repository = :repository AND day = :day",
    Scope.INSTALLATION: "installation = :installation AND day = :day",
    Scope.TOTAL: "day = :day",
    None: "repository = :repository",
}
"""Which rows of `call` and of `work` count together; None is a repository for ever."""
_TABLES: Mapping[str, Mapping[Kind, str]] = {
    "call": {Kind.USD: "sum(counted)", Kind.TOKENS: "sum(counted_tokens)", Kind.CALLS: "count(*)"},
    "work": {Kind.SECONDS: "sum(earlier + seconds + set_aside)", Kind.MISSIONS: "count(*)"},
}
_WIDE = (Scope.TOTAL, Scope.INSTALLATION)
"""Scopes of several repositories, the widest first: the order in which they are locked."""
_UNITS = {Kind.USD: "${:.4f}", Kind.SECONDS: "{:.0f} s"}
_HAIR = 1e-9
"""Three times 0.1 is more than 0.3 to a computer."""
PATIENCE_S = 60.0
"""So long a server that is away is waited for: it was there a moment ago, and missions outlive its restart."""
PAUSE_S = 2.0

log = logging.getLogger(__name__)


class Excess(Frozen):
    """A ceiling, and what stands against one more booking."""

    ceiling: Ceiling
    counted: float
    asked: float

    @property
    def message(self) -> str:
        """One sentence for a person."""
        kind = self.ceiling.kind
        most, counted, asked = (_said(kind, value) for value in (self.ceiling.most, self.counted, self.asked))
        return f"{self.ceiling.name} allows {most}: {counted} are spent or set aside, and this may take {asked}"

    @property
    def advice(self) -> str:
        """What the person can do about it."""
        return f"raise {self.ceiling.name}, or wait"


def alone(transaction: Transaction, account: Account) -> None:
    """Let nobody else look at the same ceilings before this transaction ends."""
    scopes = {ceiling.scope for ceiling in account.ceilings}
    for scope in _WIDE:
        if scope in scopes:
            transaction.alone(f"{scope} {account.installation if scope is Scope.INSTALLATION else ''}")
    transaction.alone(f"ledger {account.repository}")


def booked(transaction: Transaction, account: Account, scope: Scope, table: str) -> Mapping[Kind, float]:
    """What is spent or set aside in a scope, of each kind a table knows."""
    sums = _TABLES[table]
    columns = ", ".join(f"coalesce({what}, 0)" for what in sums.values())
    query = f"SELECT {columns} FROM {table} WHERE {WHERE[scope]}"  # noqa: S608 (literals above)
    [row] = transaction.execute(query, place_of(account))
    return {kind: float(value) for kind, value in zip(sums, row, strict=True)}


def first_excess(transaction: Transaction, account: Account, table: str, wanted: Mapping[Kind, float]) -> Excess | None:
    """The first ceiling that a booking would break; call `alone` first."""
    for scope, ceilings in ceilings_by_scope(account, wanted).items():
        counted = booked(transaction, account, scope, table)
        for ceiling in ceilings:
            asked = wanted[ceiling.kind]
            if counted[ceiling.kind] + asked > ceiling.most + _HAIR:
                return Excess(ceiling=ceiling, counted=counted[ceiling.kind], asked=asked)
    return None


def ceilings_by_scope(account: Account, kinds: Collection[Kind]) -> Mapping[Scope, list[Ceiling]]:
    """The ceilings of some kinds, the narrowest scope first."""
    found: dict[Scope, list[Ceiling]] = {}
    for scope in Scope:
        if here := [one for one in account.ceilings if one.scope is scope and one.kind in kinds]:
            found[scope] = here
    return found


def place_of(account: Account) -> dict[str, str]:
    """Where something is booked, as the tables' columns."""
    return {
        "mission": account.mission,
        "repository": account.repository,
        "pull_request": account.pull_request,
        "installation": account.installation,
        "day": account.day,
    }


async def patiently(
    database: Database, call: Callable[[Transaction], Answer], patience_s: float = PATIENCE_S
) -> Answer:
    """One transaction; a server that is away is waited for, a file that cannot be used is not.

    A server may go away between writing it down and saying so: what is called again must bear to be done twice.

    Raises:
        StoreError: the database cannot be used.
    """
    left_s = patience_s if is_postgres(database.url) else 0.0
    while True:
        try:
            return await database.do(call)
        except StoreError as error:
            if left_s <= 0:
                raise
            log.warning("the ledger waits: %s", error.message)
        pause_s = min(PAUSE_S, left_s)
        await asyncio.sleep(pause_s)
        left_s -= pause_s


def _said(kind: Kind, value: float) -> str:
    return _UNITS.get(kind, "{:.0f} " + kind.value).format(value)
