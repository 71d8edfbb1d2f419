"""Several models in order: if one fails, the next is asked."""

import time
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from bot.domain.model import Completion, ModelTrouble, Prompt
from bot.domain.model_error import ModelError
from bot.ports.models import Chat

REST_S = 60.0
LONGEST_REST_S = 600.0

OF_THE_SERVER = frozenset(
    {
        ModelTrouble.AUTH,
        ModelTrouble.RATE_LIMIT,
        ModelTrouble.OVERLOADED,
        ModelTrouble.TIMEOUT,
        ModelTrouble.TRANSPORT,
        ModelTrouble.DEADLINE,
        ModelTrouble.BAD_RESPONSE,
    }
)
"""Errors that the next question would meet, too; all others depend on the question."""

Answer = TypeVar("Answer")


class FallbackChat:
    """Asks one model after another, recently failed ones last.

    Args:
        chats: Models in order of preference, at least one.
        now: Monotonic clock.
    """

    def __init__(self, chats: Sequence[Chat], now: Callable[[], float] = time.monotonic) -> None:
        self.chats = tuple(chats)
        self._now = now
        self._rests_until: dict[int, float] = {}

    @property
    def name(self) -> str:
        """Return all names, in order."""
        return ",".join(chat.name for chat in self.chats)

    @property
    def can_hold_to_schema(self) -> bool:
        """Return True if any model supports a schema; the others ignore it."""
        return any(chat.can_hold_to_schema for chat in self.chats)

    async def complete(self, prompt: Prompt, *, deadline_s: float) -> Completion:
        """Return the first answer.

        Args:
            prompt: The prompt.
            deadline_s: Time limit for all models, in seconds.

        Raises:
            ModelError: All models failed.
        """

        async def ask(chat: Chat, share_s: float) -> Completion:
            return await chat.complete(prompt, deadline_s=share_s)

        return await self.first(ask, deadline_s=deadline_s)

    async def first(
        self, ask: Callable[[Chat, float], Awaitable[Answer]], *, deadline_s: float
    ) -> Answer:
        """Return the first successful result; each model gets a share of the remaining time.

        Args:
            ask: Asks a model within a number of seconds. Raises ModelError also for an unusable
                answer.
            deadline_s: Time limit for all models, in seconds.

        Raises:
            ModelError: All models failed, or the money is spent; it has the calls of all.
        """
        until = self._now() + deadline_s
        order = self._order()
        errors: list[ModelError] = []
        for place, index in enumerate(order):
            left = until - self._now()
            if errors and left <= 0:
                break
            try:
                # A model that fails early leaves its time to the next ones.
                answer = await ask(self.chats[index], left / (len(order) - place))
            except ModelError as error:
                errors.append(error)
                self._failed(index, error)
                if error.trouble is ModelTrouble.BUDGET:
                    break
            else:
                self._rests_until.pop(index, None)
                return answer
        raise _combine_errors(errors)

    async def close(self) -> None:
        """Close all models."""
        for chat in self.chats:
            await chat.close()

    def _order(self) -> list[int]:
        now = self._now()
        rests = {index: until for index, until in self._rests_until.items() if until > now}
        # Sorting is stable: models without a pause keep their order.
        return sorted(range(len(self.chats)), key=lambda index: rests.get(index, 0.0))

    def _failed(self, index: int, error: ModelError) -> None:
        if error.trouble in OF_THE_SERVER:
            rest_s = (
                REST_S if error.retry_after_s is None else min(error.retry_after_s, LONGEST_REST_S)
            )
            self._rests_until[index] = self._now() + rest_s


def _combine_errors(errors: Sequence[ModelError]) -> ModelError:
    """Combine errors; the result can be retried if one of them can."""
    if len(errors) == 1:
        return errors[0]
    ended = errors[-1].trouble is ModelTrouble.BUDGET
    chosen = (
        errors[-1] if ended else next((error for error in errors if error.retryable), errors[-1])
    )
    waits = [error.retry_after_s for error in errors if error.retry_after_s is not None]
    return ModelError(
        "; ".join(error.message for error in errors),
        chosen.advice,
        trouble=chosen.trouble,
        retry_after_s=min(waits, default=None),
        attempts=sum(error.attempts for error in errors),
        calls=tuple(call for error in errors for call in error.calls),
    )
