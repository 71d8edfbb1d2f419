"""The models of one mission, for its stages: calls are billed, limits hold, rules take over."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from pydantic import BaseModel

from bot.domain.forecast import Forecast
from bot.domain.mission import Budget
from bot.domain.model import Judging, ModelCall, ModelTrouble, Question, Role, Written, total
from bot.domain.model_error import ModelError
from bot.ports import Mind
from sandbox.types import Frozen

Message = TypeVar("Message", bound=BaseModel)
Judged = TypeVar("Judged", bound=Frozen)

_GIVE_UP_AFTER = 2
"""Unanswered questions in a row after which no model is asked, to save the stages' time."""
_TIME_SHARE = 1 / 3
"""Share of the mission's time for judging; the rest is for search and verification."""
_LEAST_S = 1.0
"""Time left for models, in seconds, below which none is asked."""
_ANSWERED = frozenset({ModelTrouble.UNREADABLE, ModelTrouble.REFUSAL, ModelTrouble.TOO_LARGE})
"""Errors of one question that do not count as a silent server."""

Said = TypeVar("Said")

_logger = logging.getLogger(__name__)


_TOO_LONG = (
    "models have taken their share of this mission's time; the rest is for trying and proving"
)


class Waiting(Frozen):
    """Waiting times of models in a mission."""

    seconds: float = 0.0
    unanswered: int = 0
    """Unanswered questions in a row."""


class Billed:
    """A mission's models that keep the bill of the current step.

    Args:
        mind: The models; None for none.
        budget: No model is asked after its money is spent.
    """

    def __init__(self, mind: Mind | None, budget: Budget) -> None:
        self._mind = mind
        self.budget = budget
        """The budget before the current step."""
        self._bill: tuple[ModelCall, ...] = ()
        self.waiting = Waiting()
        """The waiting times so far; stored with every step."""

    @property
    def judging(self) -> Judging:
        """Return when the judging stages ask a model."""
        return self._mind.judging if self._mind is not None else Judging.NEVER

    def has(self, role: Role) -> bool:
        """Return True if a model has this role."""
        return self._mind is not None and self._mind.has(role)

    async def forecast(self) -> Forecast | None:
        """Return the expected use of models by a mission; None without models."""
        return await self._mind.forecast() if self._mind is not None else None

    async def ask(
        self, question: Question, returns: type[Message]
    ) -> tuple[Message, tuple[ModelCall, ...]]:
        """Ask for a message and bill it.

        Raises:
            ModelError: there is no answer, or no model is asked any more.
        """
        message, calls = await self._wait(lambda mind: mind.ask(question, returns))
        self._bill += calls
        return message, calls

    async def write(self, question: Question) -> Written:
        """Ask for free text and bill it.

        Raises:
            ModelError: there is no answer, or no model is asked any more.
        """
        written = await self._wait(lambda mind: mind.write(question))
        self._bill += (*written.failed, written.call)
        return written

    def take_bill(self) -> tuple[ModelCall, ...]:
        """Return every call since the last bill."""
        bill, self._bill = self._bill, ()
        return bill

    async def or_rules(
        self, rules: Judged, by_model: Callable[[Mind, Judged], Awaitable[Judged]]
    ) -> Judged:
        """Return a model's value; without a model or a usable answer, that of the rules.

        The value names its author.

        Args:
            rules: The value by rules; the model must not contradict its fixed parts.
            by_model: Asks the model and builds the value.
        """
        if not self.has(Role.JUDGE):
            return rules
        try:
            return await by_model(self, rules)
        except ModelError as error:
            _logger.warning(
                "model failed, the rules decide: %s",
                error.message,
                extra={"trouble": error.trouble.value},
            )
            return rules.with_(by="fallback")

    async def _wait(self, ask: Callable[[Mind], Awaitable[Said]]) -> Said:
        """Wait for an answer; record the duration and if there was one."""
        mind, left_s = self._ready()
        started, unanswered = time.monotonic(), self.waiting.unanswered + 1
        limit = asyncio.timeout(left_s)
        try:
            async with limit:
                said = await ask(mind)
            unanswered = 0
        except TimeoutError as error:
            # A time-out from inside the call is not ours.
            if not limit.expired():
                raise
            raise ModelError(_TOO_LONG, trouble=ModelTrouble.DEADLINE) from error
        except ModelError as error:
            self._bill += error.calls
            # An unusable answer still shows that the server is there.
            unanswered = 0 if error.trouble in _ANSWERED else unanswered
            raise
        finally:
            seconds = self.waiting.seconds + time.monotonic() - started
            self.waiting = Waiting(seconds=round(seconds, 3), unanswered=unanswered)
        return said

    def _ready(self) -> tuple[Mind, float]:
        """Return the models and the time limit for an answer."""
        if self._mind is None:
            raise ModelError("no model is configured", trouble=ModelTrouble.BAD_REQUEST)
        spent_usd = self.budget.spent_usd + total(self._bill).cost_usd
        if self.budget.with_(spent_usd=spent_usd).is_money_spent:
            message = (
                f"the money for models in this mission is spent (${self.budget.money_usd:.2f})"
            )
            raise ModelError(message, trouble=ModelTrouble.BUDGET)
        unanswered = self.waiting.unanswered
        if unanswered >= _GIVE_UP_AFTER:
            message = (
                f"no model answered {unanswered} times in a row; none is asked any more in "
                "this mission"
            )
            raise ModelError(message, trouble=ModelTrouble.TRANSPORT)
        left_s = self.budget.seconds * _TIME_SHARE - self.waiting.seconds
        if left_s < _LEAST_S:
            raise ModelError(_TOO_LONG, trouble=ModelTrouble.DEADLINE)
        return self._mind, left_s


def useless(why: str) -> ModelError:
    """Return the error for an answer that is readable and unusable.

    Args:
        why: The problem.
    """
    return ModelError(f"the model's answer cannot be used: {why}", trouble=ModelTrouble.UNREADABLE)
