"""Several models in order: when one gives no answer, the next is asked."""

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
"""Troubles that the next question would meet too; the others lie with the question."""

Answer = TypeVar("Answer")


class FallbackChat:
    """Asks one model after another, those that failed lately last.

    Args:
        chats: In order of preference, at least one.
        now: A clock that never goes back.
    """

    def __init__(self, chats: Sequence[Chat], now: Callable[[], float] = time.monotonic) -> None:
        self.chats = tuple(chats)
        self._now = now
        self._rests_until: dict[int, float] = {}

    @property
    def name(self) -> str:
        """All names, in order."""
        return ",".join(chat.name for chat in self.chats)

    @property
    def can_hold_to_schema(self) -> bool:
        """Whether any can; the others do without."""
        return any(chat.can_hold_to_schema for chat in self.chats)

    async def complete(self, prompt: Prompt, *, deadline_s: float) -> Completion:
        """The first answer there is.

        Args:
            prompt: What to ask.
            deadline_s: For all together.

        Raises:
            ModelError: none of them has one.
        """

        async def ask(chat: Chat, share_s: float) -> Completion:
            return await chat.complete(prompt, deadline_s=share_s)

        return await self.first(ask, deadline_s=deadline_s)

    async def first(self, ask: Callable[[Chat, float], Awaitable[Answer]], *, deadline_s: float) -> Answer:
        """What the first gives that does not fail; each has its share of what is left of the deadline.

        Args:
            ask: Asks one, within so many seconds; may pay for it, and may find the answer of no use (ModelError).
            deadline_s: For all together.

        Raises:
            ModelError: all of them failed, or there is no money left; with the calls of all.
        """
        until = self._now() + deadline_s
        order = self._order()
        errors: list[ModelError] = []
        for place, index in enumerate(order):
            left = until - self._now()
            if errors and left <= 0:
                break
            try:
                answer = await ask(self.chats[index], left / (len(order) - place))
            except ModelError as error:
                errors.append(error)
                self._failed(index, error)
                if error.trouble is ModelTrouble.BUDGET:
                    break
            else:
                self._rests_until.pop(index, None)
                return answer
        raise _together(errors)

    async def close(self) -> None:
        """Close all of them."""
        for chat in self.chats:
            await chat.close()

    def _order(self) -> list[int]:
        now = self._now()
        rests = {index: until for index, until in self._rests_until.items() if until > now}
        return sorted(range(len(self.chats)), key=lambda index: rests.get(index, 0.0))

    def _failed(self, index: int, error: ModelError) -> None:
        if error.trouble in OF_THE_SERVER:
            rest_s = REST_S if error.retry_after_s is None else min(error.retry_after_s, LONGEST_REST_S)
            self._rests_until[index] = self._now() + rest_s


def _together(errors: Sequence[ModelError]) -> ModelError:
    """One error for all; asking again may help when it may help with one."""
    if len(errors) == 1:
        return errors[0]
    ended = errors[-1].trouble is ModelTrouble.BUDGET
    told = errors[-1] if ended else next((error for error in errors if error.retryable), errors[-1])
    waits = [error.retry_after_s for error in errors if error.retry_after_s is not None]
    return ModelError(
        "; ".join(error.message for error in errors),
        told.advice,
        trouble=told.trouble,
        retry_after_s=min(waits, default=None),
        attempts=sum(error.attempts for error in errors),
        calls=tuple(call for error in errors for call in error.calls),
    )
