"""The ledger of all repositories in one SQLite file: limits hold over processes, answers paid for are kept."""

import asyncio
import logging
import sqlite3
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from datetime import date, timedelta
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from bot.domain.account import Account, Reserved
from bot.domain.model import Completion, ModelCall, ModelTrouble, Spend, Usage
from bot.domain.model_error import ModelError
from bot.errors import StoreError

Answer = TypeVar("Answer")

BUSY_S = 30.0
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
_HAIR = 1e-9
"""Three times 0.1 is more than 0.3 to a computer."""

_SCHEMA = """
create table if not exists call (
    id integer primary key, mission text not null, key text not null, repository text not null,
    pull_request text not null, installation text not null, day text not null,
    stage text not null, model text not null, trouble text, attempts integer not null default 0,
    counted real not null, cost real, open integer not null default 1,
    input_tokens integer not null default 0, output_tokens integer not null default 0,
    cache_read_tokens integer not null default 0, cache_write_tokens integer not null default 0,
    reasoning_tokens integer not null default 0, answer text
) strict;
create index if not exists call_by_mission on call (mission, key);
create index if not exists call_by_pull_request on call (repository, pull_request);
create index if not exists call_with_answer on call (day) where answer is not null;
create index if not exists call_by_day on call (day, repository);
"""
_USAGE = tuple(Usage.model_fields)
_SCOPES = {
    "mission": "mission = :mission",
    "pull_request": "repository = :repository and pull_request = :pull_request",
    "repository": "repository = :repository",
    "day": "repository = :repository and day = :day",
    "total": "day = :day",
}
"""Whose calls count together; `total` is all repositories on one day."""


log = logging.getLogger(__name__)


class SqliteLedger:
    """Every call to a model, before and after.

    What was set aside and never settled (a process died meanwhile) counts as spent: it may have been billed. A call
    whose price is not known counts nothing towards money, and bounds itself by the number of calls.

    Args:
        path: The database's file; made with its folder when it is not there.
        usd_per_day: Of all repositories together; None does not limit.
    """

    def __init__(self, path: Path, *, usd_per_day: float | None = None) -> None:
        self._path = path
        self._usd_per_day = usd_per_day
        self._lock = threading.Lock()
        self._database: sqlite3.Connection | None = None
        self._give_back: Callable[[], object] = lambda: None

    async def reserve(self, account: Account, key: str, call: ModelCall) -> Reserved:
        """Set aside what a call may cost at most, atomically with the look at every limit; or the answer of before.

        Raises:
            ModelError: of the kind `budget`: a limit would be exceeded, or the ledger cannot be used.
        """

        def take(database: sqlite3.Connection) -> Reserved:
            remembered = _answer(database, account.mission, key)
            if remembered is not None:
                return Reserved(answer=remembered)
            _forget(database, account.day)
            self._refuse_excess(database, account, call)
            columns = ("mission", "repository", "pull_request", "installation", "day")
            row = {name: getattr(account, name) for name in columns}
            row |= {"key": key, "stage": call.stage, "model": call.model, "counted": call.reserved_usd}
            names, gaps = ", ".join(row), ", ".join(f":{name}" for name in row)
            added = database.execute(f"insert into call ({names}) values ({gaps})", row)  # noqa: S608 (our own names)
            return Reserved(id=added.lastrowid or 0)

        try:
            return await self._do(take)
        except StoreError as error:
            raise ModelError(error.message, error.advice, trouble=ModelTrouble.BUDGET) from error

    async def settle(self, reservation: int, call: ModelCall, answer: Completion | None) -> None:
        """What it came to; an answer is kept for a mission that is run again.

        When the ledger cannot be written, what was set aside goes on counting.
        """
        row: dict[str, object] = {"id": reservation, "counted": _counted(call), "cost": call.cost_usd, "open": 0}
        row |= {"stage": call.stage, "model": call.model, "trouble": call.trouble, "attempts": call.attempts}
        row |= {name: getattr(call.usage, name) for name in _USAGE}
        row["answer"] = answer.model_dump_json() if answer is not None else None
        sets = ", ".join(f"{name} = :{name}" for name in row if name != "id")
        query = f"update call set {sets} where id = :id"  # noqa: S608 (our own names)
        try:
            await self._do(lambda database: database.execute(query, row))
        except StoreError as error:
            log.warning("a paid call is not settled: %s", error.message)
        _tell(call)

    async def spent(self, account: Account) -> dict[str, Spend]:
        """What `mission`, `pull_request`, `repository`, `day` and, of all repositories that day, `total` have come to.

        Raises:
            StoreError: the ledger cannot be read.
        """
        return await self._do(lambda database: {name: _spend(database, name, account) for name in _SCOPES})

    def _refuse_excess(self, database: sqlite3.Connection, account: Account, call: ModelCall) -> None:
        made, _ = _count(database, "mission", account)
        if made >= account.calls_per_mission:
            message = f"the mission has asked models {made} times, and may not more often"
            raise ModelError(message, "raise models.calls_per_mission", trouble=ModelTrouble.BUDGET)
        limits = {
            "mission": ("limits.usd_per_mission", account.usd_per_mission),
            "pull_request": ("limits.usd_per_pull_request", account.usd_per_pull_request),
            "day": ("limits.usd_per_day", account.usd_per_day),
            "total": ("models.usd_per_day_total", self._usd_per_day),
        }
        for scope, (name, limit) in limits.items():
            if limit is None:
                continue
            counted = _count(database, scope, account)[1]
            if counted + call.reserved_usd > limit + _HAIR:
                message = f"{name} allows ${limit:.2f}: ${counted:.4f} are spent or set aside"
                message += f", and this call may cost ${call.reserved_usd:.4f}"
                raise ModelError(message, f"raise {name}, or wait", trouble=ModelTrouble.BUDGET)

    async def _do(self, call: Callable[[sqlite3.Connection], Answer]) -> Answer:
        """One writing transaction, off the event loop."""
        return await asyncio.to_thread(self._in_transaction, call)

    def _in_transaction(self, call: Callable[[sqlite3.Connection], Answer]) -> Answer:
        with self._lock:
            try:
                database = self._open()
                database.execute("begin immediate")
                try:
                    answer = call(database)
                    database.execute("commit")
                finally:
                    if database.in_transaction:
                        database.execute("rollback")
            except (sqlite3.Error, OSError) as error:
                self._give_back()
                self._database = None  # the next call opens it anew
                raise StoreError(f"the ledger cannot be used ({error})", f"look at {self._path}") from error
            return answer

    def _open(self) -> sqlite3.Connection:
        """The one connection of this process: opening and closing it costs more than all that is done with it."""
        if self._database is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            database = sqlite3.connect(self._path, timeout=BUSY_S, isolation_level=None, check_same_thread=False)
            self._give_back = weakref.finalize(self, database.close)
            _prepare(database)
            self._database = database
        return self._database


def _prepare(database: sqlite3.Connection) -> None:
    """Make the table when it is not there yet. A crash of the process loses nothing, one of the machine a moment."""
    database.execute("pragma synchronous = normal")
    if database.execute("select 1 from sqlite_master where name = 'call_by_day'").fetchone() is None:
        database.execute("pragma journal_mode = wal")
        database.executescript(_SCHEMA)


def _answer(database: sqlite3.Connection, mission: str, key: str) -> Completion | None:
    """What this mission was answered before; what another version wrote may be unreadable, and is as good as none."""
    query = "select answer from call where mission = ? and key = ? and answer is not null order by id desc limit 1"
    for (text,) in database.execute(query, (mission, key)):
        with suppress(ValidationError):
            return Completion.model_validate_json(text)
    return None


def _forget(database: sqlite3.Connection, day: str) -> None:
    today = date.fromisoformat(day)
    old = (today - timedelta(days=ANSWERS_DAYS)).isoformat()
    database.execute("update call set answer = null where day < ? and answer is not null", (old,))
    database.execute("delete from call where day < ?", ((today - timedelta(days=CALLS_DAYS)).isoformat(),))


def _count(database: sqlite3.Connection, scope: str, account: Account) -> tuple[int, float]:
    """Calls, and money spent or set aside."""
    query = f"select count(*), total(counted) from call where {_SCOPES[scope]}"  # noqa: S608 (a literal above)
    calls, counted = database.execute(query, account.model_dump()).fetchone()
    return int(calls), float(counted)


def _spend(database: sqlite3.Connection, scope: str, account: Account) -> Spend:
    """What settled calls came to, as far as it is known."""
    sums = ", ".join(f"total({name})" for name in _USAGE)
    query = f"select count(*), sum(cost is null), total(cost), {sums} from call where open = 0 and {_SCOPES[scope]}"  # noqa: S608 (literals)
    calls, unpriced, cost, *tokens = database.execute(query, account.model_dump()).fetchone()
    usage = Usage(**{name: int(count) for name, count in zip(_USAGE, tokens, strict=True)})
    return Spend(calls=calls, unpriced_calls=unpriced or 0, cost_usd=round(cost, 9), usage=usage)


def _counted(call: ModelCall) -> float:
    """What counts towards the limits: what is known, nothing for what a server refused, else the worst case."""
    if call.cost_usd is not None:
        return call.cost_usd
    if call.trouble in UNBILLED:
        return 0.0
    return call.reserved_usd * (max(call.attempts, 1) if call.trouble is not None else 1)


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
