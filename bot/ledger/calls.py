"""Calls to models in the ledger: limits hold over processes and machines, answers paid for are kept."""

import logging
import secrets
from contextlib import suppress
from datetime import date, timedelta

from pydantic import ValidationError

from bot.domain.account import Account, Kind, Reserved, Scope
from bot.domain.model import Completion, ModelCall, ModelTrouble, Spend, Usage
from bot.domain.model_error import ModelError
from bot.errors import StoreError
from bot.ledger.counting import PATIENCE_S, WHERE, alone, booked, first_excess, patiently, place_of
from bot.store.database import Database, Transaction

ANSWERS_DAYS = 14
"""So long an answer is kept; a mission that is run again comes sooner."""
CALLS_DAYS = 365
"""So long it is known what was paid."""
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
"""A server that says this did no work."""

_USAGE = tuple(Usage.model_fields)
_SCOPES = {"mission": Scope.MISSION, "pull_request": Scope.PULL_REQUEST, "repository": None, "day": Scope.DAY}
_SCOPES |= {"total": Scope.TOTAL}
"""What `spent` tells of."""

log = logging.getLogger(__name__)


class CallLedger:
    """Every call to a model, before and after.

    What was set aside and never settled (a process died meanwhile) counts as spent: it may have been billed. A call
    whose price is not known counts nothing towards money, and is bounded by the number of calls and by tokens.

    Args:
        database: Of our own tables.
        patience_s: So long a server that is away is waited for.
    """

    def __init__(self, database: Database, *, patience_s: float = PATIENCE_S) -> None:
        self._database = database
        self._patience_s = patience_s

    async def reserve(self, account: Account, key: str, call: ModelCall) -> Reserved:
        """Set aside what a call may cost at most, atomically with the look at every limit; or the answer of before.

        Raises:
            ModelError: of the kind `budget`: a limit would be exceeded, or the ledger cannot be used.
        """
        token = secrets.token_hex(16)

        def take(transaction: Transaction) -> Reserved:
            remembered = _answer(transaction, account.mission, key)
            if remembered is not None:
                return Reserved(answer=remembered)
            alone(transaction, account)
            # A server may have written it down and gone away before it said so.
            for (number,) in transaction.execute("SELECT id FROM call WHERE token = :token", {"token": token}):
                return Reserved(id=number)
            if not booked(transaction, account, Scope.MISSION, "call")[Kind.CALLS]:
                _forget(transaction, account.day)
            wanted = {Kind.USD: call.reserved_usd, Kind.TOKENS: float(call.reserved_tokens), Kind.CALLS: 1.0}
            if (excess := first_excess(transaction, account, "call", wanted)) is not None:
                raise ModelError(excess.message, excess.advice, trouble=ModelTrouble.BUDGET)
            row: dict[str, object] = {**place_of(account), "key": key, "stage": call.stage, "model": call.model}
            row |= {"token": token, "counted": call.reserved_usd, "counted_tokens": call.reserved_tokens}
            names, gaps = ", ".join(row), ", ".join(f":{name}" for name in row)
            query = f"INSERT INTO call ({names}) VALUES ({gaps}) RETURNING id"  # noqa: S608 (our own names)
            [[number]] = transaction.execute(query, row)
            return Reserved(id=number)

        try:
            return await patiently(self._database, take, self._patience_s)
        except StoreError as error:
            raise ModelError(error.message, error.advice, trouble=ModelTrouble.BUDGET) from error

    async def settle(self, reservation: int, call: ModelCall, answer: Completion | None) -> None:
        """What it came to; an answer is kept for a mission that is run again.

        When the ledger cannot be written, what was set aside goes on counting.
        """
        tokens = call.usage.input_tokens + call.usage.output_tokens
        row: dict[str, object] = {"id": reservation, "cost": call.cost_usd, "open": 0, "trouble": call.trouble}
        row |= {"counted": _counted(call, call.cost_usd, call.reserved_usd)}
        row |= {"counted_tokens": int(_counted(call, tokens or None, call.reserved_tokens))}
        row |= {"stage": call.stage, "model": call.model, "attempts": call.attempts}
        row |= {name: getattr(call.usage, name) for name in _USAGE}
        row["answer"] = answer.model_dump_json() if answer is not None else None
        sets = ", ".join(f"{name} = :{name}" for name in row if name != "id")
        query = f"UPDATE call SET {sets} WHERE id = :id"  # noqa: S608 (our own names)
        try:
            await patiently(self._database, lambda transaction: transaction.change(query, row), self._patience_s)
        except StoreError as error:
            log.warning("a paid call is not settled: %s", error.message)
        _tell(call)

    async def spent(self, account: Account) -> dict[str, Spend]:
        """What `mission`, `pull_request`, `repository`, `day` and, of all repositories that day, `total` have come to.

        Raises:
            StoreError: the ledger cannot be read.
        """

        def look(transaction: Transaction) -> dict[str, Spend]:
            return {name: spend_of(transaction, account, scope) for name, scope in _SCOPES.items()}

        return await self._database.do(look)


def _answer(transaction: Transaction, mission: str, key: str) -> Completion | None:
    """What this mission was answered before; what another version wrote may be unreadable, and is as good as none."""
    query = "SELECT answer FROM call WHERE mission = :mission AND key = :key AND answer IS NOT NULL ORDER BY id DESC"
    for (text,) in transaction.execute(f"{query} LIMIT 1", {"mission": mission, "key": key}):
        with suppress(ValidationError):
            return Completion.model_validate_json(text)
    return None


def _forget(transaction: Transaction, day: str) -> None:
    today = date.fromisoformat(day)
    old = (today - timedelta(days=ANSWERS_DAYS)).isoformat()
    transaction.change("UPDATE call SET answer = NULL WHERE day < :old AND answer IS NOT NULL", {"old": old})
    transaction.change("DELETE FROM call WHERE day < :old", {"old": (today - timedelta(days=CALLS_DAYS)).isoformat()})


def spend_of(transaction: Transaction, account: Account, scope: Scope | None, *, settled: bool = True) -> Spend:
    """What calls came to, as far as it is known.

    Args:
        transaction: Reads.
        account: Whose.
        scope: Of which others, too.
        settled: Leave out what was set aside and never settled; else it counts as of unknown price.
    """
    sums = ", ".join(f"coalesce(sum({name}), 0)" for name in _USAGE)
    unpriced = "coalesce(sum(CASE WHEN cost IS NULL THEN 1 ELSE 0 END), 0)"
    only = "open = 0 AND " if settled else ""
    query = f"SELECT count(*), {unpriced}, coalesce(sum(cost), 0), {sums} FROM call WHERE {only}{WHERE[scope]}"  # noqa: S608
    [[calls, unknown, cost, *tokens]] = transaction.execute(query, place_of(account))
    usage = Usage(**{name: int(count) for name, count in zip(_USAGE, tokens, strict=True)})
    return Spend(calls=calls, unpriced_calls=int(unknown), cost_usd=round(float(cost), 9), usage=usage)


def _counted(call: ModelCall, known: float | None, reserved: float) -> float:
    """What counts towards a limit: what is known, nothing for what a server refused, else the worst case."""
    if known is not None:
        return known
    if call.trouble in UNBILLED:
        return 0.0
    return reserved * (max(call.attempts, 1) if call.trouble is not None else 1)


def _tell(call: ModelCall) -> None:
    """One line for the metrics, under the names of OpenTelemetry's conventions for generative AI."""
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
    log.info("a model was asked", extra={name: value for name, value in fields.items() if value is not None})
