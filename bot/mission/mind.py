"""The models as the stages of one mission use them: every call is billed, spent money stops, the rules fall back."""

import logging
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
_ANSWERED = frozenset({ModelTrouble.UNREADABLE, ModelTrouble.REFUSAL, ModelTrouble.TOO_LARGE})
"""Trouble with one question, not with whoever is asked."""

_logger = logging.getLogger(__name__)


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
        self._unanswered = 0

    def has(self, role: Role) -> bool:
        """Whether a model is there for this."""
        return self._mind is not None and self._mind.has(role)

    async def ask(self, question: Question, returns: type[Message]) -> tuple[Message, tuple[ModelCall, ...]]:
        """A message, billed.

        Raises:
            ModelError: none could be had, or nobody is asked any more.
        """
        mind = self._ready()
        try:
            message, calls = await mind.ask(question, returns)
        except ModelError as error:
            self._failed(error)
            raise
        self._answered(calls)
        return message, calls

    async def write(self, question: Question) -> Written:
        """Free text, billed.

        Raises:
            ModelError: none could be had, or nobody is asked any more.
        """
        mind = self._ready()
        try:
            written = await mind.write(question)
        except ModelError as error:
            self._failed(error)
            raise
        self._answered((*written.failed, written.call))
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

    def _ready(self) -> Mind:
        if self._mind is None:
            raise ModelError("no model is configured", trouble=ModelTrouble.BAD_REQUEST)
        spent_usd = self.budget.spent_usd + total(self._bill).cost_usd
        if self.budget.with_(spent_usd=spent_usd).is_money_spent:
            message = f"the money for models in this mission is spent (${self.budget.money_usd:.2f})"
            raise ModelError(message, trouble=ModelTrouble.BUDGET)
        if self._unanswered >= _GIVE_UP_AFTER:
            message = f"no model answered {self._unanswered} times in a row; none is asked any more in this mission"
            raise ModelError(message, trouble=ModelTrouble.TRANSPORT)
        return self._mind

    def _answered(self, calls: tuple[ModelCall, ...]) -> None:
        self._bill += calls
        self._unanswered = 0

    def _failed(self, error: ModelError) -> None:
        self._bill += error.calls
        self._unanswered = 0 if error.trouble in _ANSWERED else self._unanswered + 1


def useless(why: str) -> ModelError:
    """What to raise about an answer that can be read and not be used.

    Args:
        why: What is wrong with it.
    """
    return ModelError(f"the model's answer cannot be used: {why}", trouble=ModelTrouble.UNREADABLE)
