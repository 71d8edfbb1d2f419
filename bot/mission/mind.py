"""The models as the stages of one mission use them: calls are billed, spent money and time stop, the rules go on."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from pydantic import BaseModel

from bot.domain.mission import Budget
from bot.domain.model import ModelCall, ModelTrouble, Question, Role, Written, total
from bot.domain.model_error import ModelError
from bot.ports import Mind
from sandbox.types import Frozen

Message = TypeVar("Message", bound=BaseModel)
Judged = TypeVar("Judged", bound=Frozen)

_GIVE_UP_AFTER = 2
"""Questions in a row that nobody answered: a server that is away would cost every stage its time."""
_TIME_SHARE = 1 / 3
"""Of a mission's time that judging may take: the rest is for trying and proving."""
_LEAST_S = 1.0
_ANSWERED = frozenset({ModelTrouble.UNREADABLE, ModelTrouble.REFUSAL, ModelTrouble.TOO_LARGE})
"""Trouble with one question, not with whoever is asked."""

Said = TypeVar("Said")

_logger = logging.getLogger(__name__)


_TOO_LONG = "models have taken their share of this mission's time; the rest is for trying and proving"


class Waiting(Frozen):
    """What waiting for models has come to in a mission."""

    seconds: float = 0.0
    unanswered: int = 0
    """Questions in a row that nobody answered."""


class Billed:
    """A mission's mind that keeps the bill of the step under way.

    Args:
        mind: None has no model for anything.
        budget: When its money is spent no model is asked any more.
    """

    def __init__(self, mind: Mind | None, budget: Budget) -> None:
        self._mind = mind
        self.budget = budget
        """As it stood before the step under way."""
        self._bill: tuple[ModelCall, ...] = ()
        self.waiting = Waiting()
        """As it stands; remembered with every step."""

    def has(self, role: Role) -> bool:
        """Whether a model is there for this."""
        return self._mind is not None and self._mind.has(role)

    async def ask(self, question: Question, returns: type[Message]) -> tuple[Message, tuple[ModelCall, ...]]:
        """A message, billed.

        Raises:
            ModelError: none could be had, or nobody is asked any more.
        """
        message, calls = await self._waited(lambda mind: mind.ask(question, returns))
        self._bill += calls
        return message, calls

    async def write(self, question: Question) -> Written:
        """Free text, billed.

        Raises:
            ModelError: none could be had, or nobody is asked any more.
        """
        written = await self._waited(lambda mind: mind.write(question))
        self._bill += (*written.failed, written.call)
        return written

    def take_bill(self) -> tuple[ModelCall, ...]:
        """Every call since the last bill was taken."""
        bill, self._bill = self._bill, ()
        return bill

    async def or_rules(self, rules: Judged, by_model: Callable[[Mind, Judged], Awaitable[Judged]]) -> Judged:
        """What a model says, or the rules where there is none or it says nothing of use; the value says who spoke.

        Args:
            rules: What the rules say; the model's form may build on it, and never go against what is fixed in it.
            by_model: Asks and makes the value.
        """
        if not self.has(Role.JUDGE):
            return rules
        try:
            return await by_model(self, rules)
        except ModelError as error:
            _logger.warning("the rules decide: %s", error.message, extra={"trouble": error.trouble.value})
            return rules.with_(by="fallback")

    async def _waited(self, ask: Callable[[Mind], Awaitable[Said]]) -> Said:
        """An answer in time; how long it took, and whether there was one, is remembered."""
        mind, left_s = self._ready()
        started, unanswered = time.monotonic(), self.waiting.unanswered + 1
        limit = asyncio.timeout(left_s)
        try:
            async with limit:
                said = await ask(mind)
            unanswered = 0
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise ModelError(_TOO_LONG, trouble=ModelTrouble.DEADLINE) from error
        except ModelError as error:
            self._bill += error.calls
            unanswered = 0 if error.trouble in _ANSWERED else unanswered
            raise
        finally:
            seconds = self.waiting.seconds + time.monotonic() - started
            self.waiting = Waiting(seconds=round(seconds, 3), unanswered=unanswered)
        return said

    def _ready(self) -> tuple[Mind, float]:
        """Whom to ask, and for how long at most."""
        if self._mind is None:
            raise ModelError("no model is configured", trouble=ModelTrouble.BAD_REQUEST)
        spent_usd = self.budget.spent_usd + total(self._bill).cost_usd
        if self.budget.with_(spent_usd=spent_usd).is_money_spent:
            message = f"the money for models in this mission is spent (${self.budget.money_usd:.2f})"
            raise ModelError(message, trouble=ModelTrouble.BUDGET)
        unanswered = self.waiting.unanswered
        if unanswered >= _GIVE_UP_AFTER:
            message = f"no model answered {unanswered} times in a row; none is asked any more in this mission"
            raise ModelError(message, trouble=ModelTrouble.TRANSPORT)
        left_s = self.budget.seconds * _TIME_SHARE - self.waiting.seconds
        if left_s < _LEAST_S:
            raise ModelError(_TOO_LONG, trouble=ModelTrouble.DEADLINE)
        return self._mind, left_s


def useless(why: str) -> ModelError:
    """What to raise about an answer that can be read and not be used.

    Args:
        why: What is wrong with it.
    """
    return ModelError(f"the model's answer cannot be used: {why}", trouble=ModelTrouble.UNREADABLE)
