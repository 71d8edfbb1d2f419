"""Sums of bookings by kind and scope, and the check of ceilings."""

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
"""The rows of `call` and `work` in each scope; None covers all days of a repository."""
_TABLES: Mapping[str, Mapping[Kind, str]] = {
    "call": {Kind.USD: "sum(counted)", Kind.TOKENS: "sum(counted_tokens)", Kind.CALLS: "count(*)"},
    "work": {Kind.SECONDS: "sum(earlier + seconds + set_aside)", Kind.MISSIONS: "count(*)"},
}
_WIDE = (Scope.TOTAL, Scope.INSTALLATION)
"""Scopes of several repositories, in their locking order."""
_UNITS = {Kind.USD: "${:.4f}", Kind.SECONDS: "{:.0f} s"}
_HAIR = 1e-9
"""Tolerance for floating-point sums: 3 * 0.1 > 0.3."""
PATIENCE_S = 60.0
"""Longest wait for an unreachable server, in seconds; missions outlive its restart."""
PAUSE_S = 2.0
"""Pause between attempts, in seconds."""

log = logging.getLogger(__name__)


class Excess(Frozen):
    """A ceiling that a booking would exceed."""

    ceiling: Ceiling
    counted: float
    asked: float

    @property
    def message(self) -> str:
        """Return the error in one sentence for a person."""
        kind = self.ceiling.kind
        most, counted, asked = (
            _format_amount(kind, value) for value in (self.ceiling.most, self.counted, self.asked)
        )
        return (
            f"{self.ceiling.name} allows {most}; "
            f"{counted} are spent or reserved, and this may need {asked}"
        )

    @property
    def advice(self) -> str:
        """Return the advice for a person."""
        return f"raise {self.ceiling.name}, or wait"


def lock_ceilings(transaction: Transaction, account: Account) -> None:
    """Lock the account's ceilings until this transaction ends."""
    scopes = {ceiling.scope for ceiling in account.ceilings}
    # The same order everywhere, so that two transactions cannot deadlock.
    for scope in _WIDE:
        if scope in scopes:
            transaction.alone(
                f"{scope} {account.installation if scope is Scope.INSTALLATION else ''}"
            )
    transaction.alone(f"ledger {account.repository}")


def booked(
    transaction: Transaction, account: Account, scope: Scope, table: str
) -> Mapping[Kind, float]:
    """Return the spent and reserved amounts in a scope, for each kind in a table."""
    sums = _TABLES[table]
    columns = ", ".join(f"coalesce({what}, 0)" for what in sums.values())
    query = f"SELECT {columns} FROM {table} WHERE {WHERE[scope]}"  # noqa: S608 (literals above)
    [row] = transaction.execute(query, booking_columns(account))
    return {kind: float(value) for kind, value in zip(sums, row, strict=True)}


def first_excess(
    transaction: Transaction, account: Account, table: str, wanted: Mapping[Kind, float]
) -> Excess | None:
    """Return the first ceiling that a booking would exceed; call `lock_ceilings` first."""
    for scope, ceilings in ceilings_by_scope(account, wanted).items():
        counted = booked(transaction, account, scope, table)
        for ceiling in ceilings:
            asked = wanted[ceiling.kind]
            if counted[ceiling.kind] + asked > ceiling.most + _HAIR:
                return Excess(ceiling=ceiling, counted=counted[ceiling.kind], asked=asked)
    return None


def ceilings_by_scope(account: Account, kinds: Collection[Kind]) -> Mapping[Scope, list[Ceiling]]:
    """Return the ceilings of some kinds by scope, the narrowest first."""
    found: dict[Scope, list[Ceiling]] = {}
    for scope in Scope:
        if here := [one for one in account.ceilings if one.scope is scope and one.kind in kinds]:
            found[scope] = here
    return found


def booking_columns(account: Account) -> dict[str, str]:
    """Return the columns that identify an account's bookings."""
    return {
        "mission": account.mission,
        "repository": account.repository,
        "pull_request": account.pull_request,
        "installation": account.installation,
        "day": account.day,
    }


async def retry_while_unreachable(
    database: Database, call: Callable[[Transaction], Answer], patience_s: float = PATIENCE_S
) -> Answer:
    """Run one transaction, and retry it while a database server is unreachable.

    An unusable SQLite file is not retried. The connection may break after a commit, so
    the transaction must be safe to repeat.

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
            log.warning("ledger unavailable, retrying: %s", error.message)
        pause_s = min(PAUSE_S, left_s)
        await asyncio.sleep(pause_s)
        left_s -= pause_s


def _format_amount(kind: Kind, value: float) -> str:
    return _UNITS.get(kind, "{:.0f} " + kind.value).format(value)
