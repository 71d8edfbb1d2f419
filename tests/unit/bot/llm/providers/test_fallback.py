"""Models that stand in for each other."""

from collections.abc import Sequence

import pytest

from bot.domain.model import Completion, ModelCall, ModelTrouble, Prompt, Role
from bot.domain.model_error import ModelError
from bot.llm.providers.fallback import FallbackChat
from bot.ports.models import Chat
from tests.fakes.fixed_clock import FixedClock

pytestmark = pytest.mark.anyio

PROMPT = Prompt(system="s", user="u")


class Canned:
    """Says its name, or fails as it is told; takes its time from the clock."""

    def __init__(
        self,
        name: str,
        *troubles: ModelTrouble | None,
        clock: FixedClock | None = None,
        takes_s: float = 0.0,
    ) -> None:
        self.name = name
        self.can_hold_to_schema = False
        self.troubles = list(troubles)
        self.shares: list[float] = []
        self.retry_after_s: float | None = None
        self.closed = False
        self._clock = clock or FixedClock()
        self._takes_s = takes_s

    async def complete(self, prompt: Prompt, *, deadline_s: float) -> Completion:
        self.shares.append(deadline_s)
        self._clock.advance(min(self._takes_s, deadline_s))
        trouble = self.troubles.pop(0) if self.troubles else None
        if trouble is None:
            return Completion(text=self.name)
        call = ModelCall(stage="plan", role=Role.JUDGE, model=self.name, trouble=trouble)
        message = f"{self.name} failed"
        raise ModelError(
            message, trouble=trouble, retry_after_s=self.retry_after_s, attempts=2, calls=(call,)
        )

    async def close(self) -> None:
        self.closed = True


def fallback(chats: Sequence[Chat], clock: FixedClock) -> FallbackChat:
    return FallbackChat(chats, now=clock.monotonic)


async def asked(chat: FallbackChat) -> str:
    return (await chat.complete(PROMPT, deadline_s=60)).text


@pytest.mark.parametrize(
    "trouble", [trouble for trouble in ModelTrouble if trouble is not ModelTrouble.BUDGET]
)
async def test_where_one_fails_the_next_is_asked(trouble: ModelTrouble) -> None:
    first, second = Canned("first", trouble), Canned("second")
    assert await asked(fallback([first, second], FixedClock())) == "second"


async def test_the_first_is_asked_alone_while_it_answers() -> None:
    first, second = Canned("first"), Canned("second")
    chat = fallback([first, second], FixedClock())
    assert [await asked(chat) for _ in range(3)] == ["first"] * 3
    assert (chat.name, second.shares) == ("first,second", [])


async def test_without_money_nobody_else_is_asked() -> None:
    first, second = Canned("first", ModelTrouble.BUDGET), Canned("second")
    with pytest.raises(ModelError) as raised:
        await asked(fallback([first, second], FixedClock()))
    assert (raised.value.trouble, second.shares) == (ModelTrouble.BUDGET, [])


async def test_who_failed_lately_is_asked_last_until_it_has_rested() -> None:
    clock = FixedClock()
    first, second = Canned("first", ModelTrouble.AUTH), Canned("second")
    chat = fallback([first, second], clock)
    assert [await asked(chat), await asked(chat)] == ["second", "second"]
    assert len(first.shares) == 1
    clock.advance(61)
    assert await asked(chat) == "first"


async def test_who_rests_is_asked_when_nobody_else_answers() -> None:
    first, second = (
        Canned("first", ModelTrouble.OVERLOADED),
        Canned("second", None, ModelTrouble.TIMEOUT),
    )
    chat = fallback([first, second], FixedClock())
    assert [await asked(chat), await asked(chat), await asked(chat)] == ["second", "first", "first"]


async def test_who_asks_for_a_longer_rest_gets_it_within_reason() -> None:
    clock = FixedClock()
    first, second = Canned("first", ModelTrouble.RATE_LIMIT), Canned("second")
    first.retry_after_s = 86_400.0
    chat = fallback([first, second], clock)
    assert await asked(chat) == "second"
    clock.advance(300)
    assert await asked(chat) == "second"
    clock.advance(301)
    assert await asked(chat) == "first"


@pytest.mark.parametrize(
    "trouble", [ModelTrouble.TOO_LARGE, ModelTrouble.REFUSAL, ModelTrouble.UNREADABLE]
)
async def test_what_lies_with_the_question_is_not_held_against_a_model(
    trouble: ModelTrouble,
) -> None:
    chat = fallback([Canned("first", trouble), Canned("second")], FixedClock())
    assert [await asked(chat), await asked(chat)] == ["second", "first"]


async def test_each_has_its_share_of_the_time_that_is_left() -> None:
    clock = FixedClock()
    slow = Canned("slow", ModelTrouble.DEADLINE, clock=clock, takes_s=99)
    quick = Canned("quick", ModelTrouble.AUTH, clock=clock, takes_s=1)
    last = Canned("last", clock=clock)
    assert await asked(fallback([slow, quick, last], clock)) == "last"
    assert (slow.shares, quick.shares, last.shares) == ([20.0], [20.0], [39.0])


async def test_when_the_time_is_over_nobody_else_is_asked() -> None:
    clock = FixedClock()
    first, second = Canned("first", ModelTrouble.TIMEOUT, clock=clock), Canned("second")
    chat = fallback([first, second], clock)

    async def ask(one: Chat, share_s: float) -> Completion:
        clock.advance(100)
        return await one.complete(PROMPT, deadline_s=share_s)

    with pytest.raises(ModelError, match=r"^first failed$"):
        await chat.first(ask, deadline_s=10)
    assert second.shares == []


async def test_when_all_fail_the_error_tells_of_all() -> None:
    first, second = Canned("first", ModelTrouble.RATE_LIMIT), Canned("second", ModelTrouble.AUTH)
    first.retry_after_s = 30.0
    with pytest.raises(ModelError) as raised:
        await asked(fallback([first, second], FixedClock()))
    error = raised.value
    assert (error.message, error.trouble, error.retryable) == (
        "first failed; second failed",
        ModelTrouble.RATE_LIMIT,
        True,
    )
    assert (error.retry_after_s, error.attempts, [call.model for call in error.calls]) == (
        30.0,
        4,
        ["first", "second"],
    )


async def test_a_schema_is_worth_giving_when_one_of_them_takes_it() -> None:
    first, second = Canned("first"), Canned("second")
    chat = fallback([first, second], FixedClock())
    assert not chat.can_hold_to_schema
    second.can_hold_to_schema = True
    assert chat.can_hold_to_schema


async def test_all_are_closed() -> None:
    chats = [Canned("first"), Canned("second")]
    await fallback(chats, FixedClock()).close()
    assert [chat.closed for chat in chats] == [True, True]
