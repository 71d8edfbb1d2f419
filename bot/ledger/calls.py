"""Model calls in the ledger: limits hold across processes, and paid answers are stored."""

import logging
import secrets
from contextlib import suppress
from datetime import date, timedelta

from pydantic import ValidationError

from bot.domain.account import Account, Kind, Reserved, Scope
from bot.domain.forecast import MissionUsage
from bot.domain.model import Completion, ModelCall, ModelTrouble, Spend, Usage
from bot.domain.model_error import ModelError
from bot.errors import StoreError
from bot.ledger.counting import (
    PATIENCE_S,
    WHERE,
    booked,
    booking_columns,
    first_excess,
    lock_ceilings,
    retry_while_unreachable,
)
from bot.store.database import Database, Transaction

ANSWERS_DAYS = 14
"""Retention of answers, in days; a mission is repeated well before that."""
CALLS_DAYS = 365
"""Retention of costs, in days."""
UNBILLED = frozenset(
    {
        ModelTrouble.AUTH,
        ModelTrouble.BAD_REQUEST,
        ModelTrouble.TOO_LARGE,
        ModelTrouble.RATE_LIMIT,
        ModelTrouble.OVERLOADED,
        ModelTrouble.BUDGET,
    }
)
"""Errors for which a provider does no work and bills nothing."""

_RECENT_CALLS = 2_000
"""Calls that count as recent."""
_USAGE = tuple(Usage.model_fields)
_SCOPES = {
    "mission": Scope.MISSION,
    "pull_request": Scope.PULL_REQUEST,
    "repository": None,
    "day": Scope.DAY,
}
_SCOPES |= {"total": Scope.TOTAL}
"""The totals that `spent` returns."""

log = logging.getLogger(__name__)


class CallLedger:
    """The ledger of model calls.

    A reservation that was never settled, because a process died, counts as spent: the call may have
    been billed. A call without a known price adds no money, and is bounded by the number of calls
    and tokens.

    Args:
        database: The database of our own tables.
        patience_s: Longest wait for an unreachable server, in seconds.
    """

    def __init__(self, database: Database, *, patience_s: float = PATIENCE_S) -> None:
        self._database = database
        self._patience_s = patience_s

    async def reserve(self, account: Account, key: str, call: ModelCall) -> Reserved:
        """Reserve the maximum cost of a call within all limits, or return an earlier answer.

        Raises:
            ModelError: with the trouble `budget`: a limit would be exceeded, or the ledger failed.
        """
        # Identifies our own row if the transaction has to be repeated.
        token = secrets.token_hex(16)

        def take(transaction: Transaction) -> Reserved:
            remembered = _answer(transaction, account.mission, key)
            if remembered is not None:
                return Reserved(answer=remembered)
            lock_ceilings(transaction, account)
            # The database may have committed before the connection broke.
            for (number,) in transaction.execute(
                "SELECT id FROM call WHERE token = :token", {"token": token}
            ):
                return Reserved(id=number)
            # Once per mission, at its first call.
            if not booked(transaction, account, Scope.MISSION, "call")[Kind.CALLS]:
                _delete_old(transaction, account.day)
            wanted = {
                Kind.USD: call.reserved_usd,
                Kind.TOKENS: float(call.reserved_tokens),
                Kind.CALLS: 1.0,
            }
            if (excess := first_excess(transaction, account, "call", wanted)) is not None:
                raise ModelError(excess.message, excess.advice, trouble=ModelTrouble.BUDGET)
            row: dict[str, object] = {
                **booking_columns(account),
                "key": key,
                "stage": call.stage,
                "model": call.model,
            }
            # Until it is settled, the worst case counts as spent.
            row |= {
                "token": token,
                "counted": call.reserved_usd,
                "counted_tokens": call.reserved_tokens,
            }
            names, gaps = ", ".join(row), ", ".join(f":{name}" for name in row)
            query = f"INSERT INTO call ({names}) VALUES ({gaps}) RETURNING id"  # noqa: S608 (our own names)
            [[number]] = transaction.execute(query, row)
            return Reserved(id=number)

        try:
            return await retry_while_unreachable(self._database, take, self._patience_s)
        except StoreError as error:
            raise ModelError(error.message, error.advice, trouble=ModelTrouble.BUDGET) from error

    async def settle(self, reservation: int, call: ModelCall, answer: Completion | None) -> None:
        """Record the actual cost; the answer is stored for a repeated run of the mission.

        If the ledger cannot be written, the reservation still counts.
        """
        tokens = call.usage.input_tokens + call.usage.output_tokens
        row: dict[str, object] = {
            "id": reservation,
            "cost": call.cost_usd,
            "open": 0,
            "trouble": call.trouble,
        }
        row |= {"counted": _count(call, call.cost_usd, call.reserved_usd)}
        # No tokens means that the provider reported none.
        row |= {"counted_tokens": int(_count(call, tokens or None, call.reserved_tokens))}
        row |= {"stage": call.stage, "model": call.model, "attempts": call.attempts}
        row |= {name: getattr(call.usage, name) for name in _USAGE}
        row["answer"] = answer.model_dump_json() if answer is not None else None
        sets = ", ".join(f"{name} = :{name}" for name in row if name != "id")
        query = f"UPDATE call SET {sets} WHERE id = :id"  # noqa: S608 (our own names)
        try:
            await retry_while_unreachable(
                self._database, lambda transaction: transaction.change(query, row), self._patience_s
            )
        except StoreError as error:
            log.warning("settling a model call failed: %s", error.message)
        _log_call(call)

    async def spent(self, account: Account) -> dict[str, Spend]:
        """Return the spending of the `mission`, `pull_request`, `repository`, `day` and `total`.

        `total` covers all repositories on that day.

        Raises:
            StoreError: the ledger cannot be read.
        """

        def look(transaction: Transaction) -> dict[str, Spend]:
            return {
                name: total_spend(transaction, account, scope) for name, scope in _SCOPES.items()
            }

        return await self._database.do(look)

    async def recent_missions(self) -> tuple[MissionUsage, ...]:
        """Return the use of models by recent missions, the newest first.

        Raises:
            StoreError: the ledger cannot be read.
        """
        sums = ", ".join(f"sum({name})" for name in _USAGE)
        # Ids only grow, so the newest calls are found without reading the table.
        query = (
            "SELECT mission, CASE WHEN stage = 'fix' THEN 'fix' ELSE 'judge' END AS role,"  # noqa: S608
            f" count(*), max(id), {sums} FROM call"
            " WHERE id > (SELECT coalesce(max(id), 0) FROM call) - :calls"
            " AND open = 0 AND input_tokens > 0 AND stage NOT IN ('agent', 'improve')"
            " GROUP BY mission, role ORDER BY max(id) DESC"
        )

        def look(transaction: Transaction) -> tuple[MissionUsage, ...]:
            found: dict[str, MissionUsage] = {}
            for mission, role, calls, _, *tokens in transaction.execute(
                query, {"calls": _RECENT_CALLS}
            ):
                numbers = zip(_USAGE, map(int, tokens), strict=True)
                known = found.get(mission, MissionUsage(calls=0))
                changes = {"calls": known.calls + int(calls), role: Usage(**dict(numbers))}
                found[mission] = known.with_(**changes)
            return tuple(found.values())

        return await self._database.do(look)


def _answer(transaction: Transaction, mission: str, key: str) -> Completion | None:
    """Return this mission's earlier answer; None if it is unreadable, as after an upgrade."""
    query = (
        "SELECT answer FROM call WHERE mission = :mission AND key = :key"
        " AND answer IS NOT NULL ORDER BY id DESC"
    )
    for (text,) in transaction.execute(f"{query} LIMIT 1", {"mission": mission, "key": key}):
        with suppress(ValidationError):
            return Completion.model_validate_json(text)
    return None


def _delete_old(transaction: Transaction, day: str) -> None:
    today = date.fromisoformat(day)
    old = (today - timedelta(days=ANSWERS_DAYS)).isoformat()
    transaction.change(
        "UPDATE call SET answer = NULL WHERE day < :old AND answer IS NOT NULL", {"old": old}
    )
    transaction.change(
        "DELETE FROM call WHERE day < :old",
        {"old": (today - timedelta(days=CALLS_DAYS)).isoformat()},
    )


def total_spend(
    transaction: Transaction, account: Account, scope: Scope | None, *, settled: bool = True
) -> Spend:
    """Return the known total of calls.

    Args:
        transaction: The transaction to read in.
        account: The account.
        scope: The scope whose calls are included.
        settled: Exclude unsettled reservations; otherwise they count as unpriced.
    """
    sums = ", ".join(f"coalesce(sum({name}), 0)" for name in _USAGE)
    unpriced = "coalesce(sum(CASE WHEN cost IS NULL THEN 1 ELSE 0 END), 0)"
    only = "open = 0 AND " if settled else ""
    query = (
        f"SELECT count(*), {unpriced}, coalesce(sum(cost), 0), {sums} FROM call"  # noqa: S608
        f" WHERE {only}{WHERE[scope]}"
    )
    [[calls, unknown, cost, *tokens]] = transaction.execute(query, booking_columns(account))
    usage = Usage(**{name: int(count) for name, count in zip(_USAGE, tokens, strict=True)})
    return Spend(
        calls=calls, unpriced_calls=int(unknown), cost_usd=round(float(cost), 9), usage=usage
    )


def _count(call: ModelCall, known: float | None, reserved: float) -> float:
    """Return the amount that counts: the known cost, 0 for a refused call, else the worst case."""
    if known is not None:
        return known
    if call.trouble in UNBILLED:
        return 0.0
    # Every attempt of a failed call may have been billed.
    return reserved * (max(call.attempts, 1) if call.trouble is not None else 1)


def _log_call(call: ModelCall) -> None:
    """Log one call for metrics, with the names of OpenTelemetry's conventions for generative AI."""
    provider, _, model = call.model.partition(":")
    fields = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": provider,
        "gen_ai.request.model": model,
        "gen_ai.usage.input_tokens": call.usage.input_tokens,
        "gen_ai.usage.output_tokens": call.usage.output_tokens,
        "gen_ai.usage.cache_read.input_tokens": call.usage.cache_read_tokens,
        "gen_ai.client.operation.duration": round(call.latency_s, 3),
        "error.type": call.trouble,
        "metaagent.stage": call.stage,
        "metaagent.prompt": call.prompt,
        "metaagent.attempts": call.attempts,
        "metaagent.cost_usd": call.cost_usd,
    }
    log.info(
        "model call ended",
        extra={name: value for name, value in fields.items() if value is not None},
    )
