"""The models of one mission: a question is rendered, paid for within the limits, asked, and its answer read."""

import time
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

from pydantic import BaseModel

from bot.domain.account import Account, ModelLimits, account_of
from bot.domain.model import Completion, Finish, ModelCall, ModelTrouble, Prompt, Question, Role, Written, is_cli
from bot.domain.model_error import ModelError
from bot.domain.policy import RepositoryPolicy
from bot.domain.request import MissionRequest
from bot.llm.prices import Prices
from bot.llm.prompts.render import asked_again, rendered
from bot.llm.protocol.extract import extract
from bot.llm.protocol.messages import Message
from bot.llm.protocol.schema import schema_of
from bot.llm.providers.fallback import FallbackChat
from bot.llm.providers.replay import key_of
from bot.llm.spans import Washer
from bot.llm.till import Till
from bot.ports import Chat, Clock, Ledger
from sandbox.gate import Needles, needles_of

M = TypeVar("M", bound=BaseModel)
P = TypeVar("P", bound=Message)
Answer = TypeVar("Answer")


class ModelMinds:
    """Gives every mission its mind.

    Args:
        chats: A model, or several in order, for each role there is.
        ledger: Books every call.
        prices: What tokens cost.
        limits: What models may cost and take.
        clock: Says which day it is.
        secrets: What must never be sent.
    """

    def __init__(
        self,
        chats: Mapping[Role, Chat],
        ledger: Ledger,
        prices: Prices,
        limits: ModelLimits,
        *,
        clock: Clock,
        secrets: tuple[str, ...] = (),
    ) -> None:
        self._chats = {
            role: chat if isinstance(chat, FallbackChat) else FallbackChat([chat]) for role, chat in chats.items()
        }
        self._till = Till(ledger, prices)
        self._limits = limits
        self._clock = clock
        self._secrets = needles_of(secrets)

    def of(self, request: MissionRequest, policy: RepositoryPolicy) -> "ModelMind | None":
        """The mind of a mission; None when there is no model, or no money for one that is not free."""
        account = account_of(request, policy, self._limits, self._clock.now().date())
        chats = {
            role: chat
            for role, chat in self._chats.items()
            if not account.is_penniless or all(self._till.is_free(one.name) for one in chat.chats)
        }
        return ModelMind(chats, self._till, account, self._limits, secrets=self._secrets) if chats else None

    async def close(self) -> None:
        """Give back connections."""
        for chat in {id(chat): chat for chat in self._chats.values()}.values():
            await chat.close()


class ModelMind:
    """Answers the questions of one mission.

    Args:
        chats: For each role there is.
        till: Pays.
        account: Of the mission.
        limits: How long an answer may take.
        secrets: What must never be sent.
    """

    def __init__(
        self, chats: Mapping[Role, FallbackChat], till: Till, account: Account, limits: ModelLimits, *, secrets: Needles
    ) -> None:
        self._chats = chats
        self._till = till
        self._account = account
        self._limits = limits
        self._washer = Washer(secrets)

    def has(self, role: Role) -> bool:
        """Whether a model is there for this."""
        return role in self._chats

    async def ask(self, question: Question, returns: type[M]) -> tuple[M, tuple[ModelCall, ...]]:
        """A message of this type; each model has one repair turn.

        Args:
            question: What to ask.
            returns: A message of the protocol.

        Raises:
            ModelError: none could be had; `calls` says what that cost.
        """
        if not issubclass(returns, Message):
            raise TypeError(f"{returns.__name__} is no message of the protocol")
        asking = self._asking(question)
        found = await self._first(asking, lambda chat, share_s: asking.message(chat, share_s, returns))
        return found, tuple(asking.calls)

    async def write(self, question: Question) -> Written:
        """Free text.

        Args:
            question: What to ask.

        Raises:
            ModelError: none could be had; `calls` says what that cost.
        """
        asking = self._asking(question)
        answer = await self._first(asking, lambda chat, share_s: asking.answer(chat, share_s, asking.prompt))
        *failed, call = asking.calls
        return Written(text=answer.text, finish=answer.finish, call=call, failed=tuple(failed))

    def _asking(self, question: Question) -> "_Asking":
        if not self.has(question.role):
            message = f"no model is there for the role {question.role.value!r}"
            raise ModelError(message, "configure one", trouble=ModelTrouble.BAD_REQUEST)
        return _Asking(question, self._till, self._account, self._washer)

    async def _first(self, asking: "_Asking", ask: Callable[[Chat, float], Awaitable[Answer]]) -> Answer:
        """What the first model gives that gives something of use."""
        chat = self._chats[asking.question.role]
        agents = sum(is_cli(one.name) for one in chat.chats)
        limits = self._limits
        deadline_s = limits.cli_timeout_s * agents + limits.timeout_s * (len(chat.chats) - agents)
        try:
            return await chat.first(ask, deadline_s=deadline_s)
        except ModelError as error:
            error.calls = tuple(asking.calls)
            raise


class _Asking:
    """One question under way: what was answered so far, and what that cost."""

    def __init__(self, question: Question, till: Till, account: Account, washer: Washer) -> None:
        self.question = question
        self.prompt = rendered(question, washer)
        self.calls: list[ModelCall] = []
        self._till = till
        self._account = account
        self._washer = washer
        self._key = key_of(self.prompt)
        self._answers = 0

    async def answer(self, chat: Chat, deadline_s: float, prompt: Prompt) -> Completion:
        """What one model says.

        Raises:
            ModelError: nothing, or that it will not.
        """
        # Answers are numbered, whoever gave them: a mission that is run again is given the same ones in their order.
        key = f"{self._key}:{self._answers}"
        question = self.question
        call = ModelCall(stage=question.stage, role=question.role, model=chat.name, prompt=prompt.name)
        try:
            answer, paid = await self._till.pay(
                self._account, call, prompt, key=key, complete=lambda: chat.complete(prompt, deadline_s=deadline_s)
            )
        except ModelError as error:
            self.calls += error.calls
            raise
        self.calls.append(paid)
        self._answers += 1
        if answer.finish is Finish.REFUSAL:
            raise ModelError(f"{chat.name} refuses to answer", trouble=ModelTrouble.REFUSAL)
        return answer

    async def message(self, chat: Chat, deadline_s: float, returns: type[P]) -> P:
        """The message one model gives; asked again when the first answer is of no use.

        Raises:
            ModelError: it gives none.
        """
        until = time.monotonic() + deadline_s
        prompt = self.prompt
        if chat.can_hold_to_schema:
            prompt = prompt.with_(json_schema=schema_of(returns))
        answer = await self.answer(chat, deadline_s, prompt)
        message, problem = self._read(answer, returns)
        if message is None and (left_s := until - time.monotonic()) > 0:
            said = {"answer": answer.text, "problem": problem, "kind": returns.type}
            again = asked_again(self.question, prompt, self._washer, **said)
            message, problem = self._read(await self.answer(chat, left_s, again), returns)
        if message is None:
            raise ModelError(f"{chat.name} gave no readable {returns.type}", trouble=ModelTrouble.UNREADABLE)
        return message

    def _read(self, answer: Completion, returns: type[P]) -> tuple[P | None, str]:
        """The message in an answer, or what is wrong with it."""
        found = extract(answer.text, returns, echoed=self.prompt.user)
        if answer.finish is Finish.LENGTH and not found.closed:
            return None, f"it was cut off after {self.prompt.max_tokens} tokens: answer more briefly"
        return found.message, found.problem
