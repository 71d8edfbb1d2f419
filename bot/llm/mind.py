"""Models of one mission: render a question, pay within the limits, ask and parse the answer."""

import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

from pydantic import BaseModel

from bot.domain.account import Account, ModelLimits, build_account
from bot.domain.forecast import Forecast
from bot.domain.model import (
    LONGEST_ANSWER,
    Completion,
    Finish,
    Judging,
    ModelCall,
    ModelTrouble,
    Prompt,
    Question,
    Role,
    Written,
    is_cli,
)
from bot.domain.model_error import ModelError
from bot.domain.policy import RepositoryPolicy
from bot.domain.request import MissionRequest
from bot.errors import StoreError
from bot.llm.billing import Billing
from bot.llm.prices import Prices
from bot.llm.prompts.render import render_question, render_repair
from bot.llm.protocol.extract import extract
from bot.llm.protocol.messages import Message
from bot.llm.protocol.schema import build_schema
from bot.llm.providers.fallback import FallbackChat
from bot.llm.providers.replay import hash_prompt
from bot.llm.spans import Sanitizer
from bot.ports import Chat, Clock, Ledger
from sandbox.gate import Needles, prepare_needles

log = logging.getLogger(__name__)

M = TypeVar("M", bound=BaseModel)
P = TypeVar("P", bound=Message)
Answer = TypeVar("Answer")


_LIMIT_REFUSED = frozenset({ModelTrouble.BAD_REQUEST, ModelTrouble.TOO_LARGE, ModelTrouble.BUDGET})
"""Errors of a request whose limit of the answer may be higher than the model or money allows."""


class ModelMinds:
    """Creates the models of each mission.

    Args:
        chats: A model, or several in order, for each role.
        ledger: Records every call.
        prices: Prices of tokens.
        limits: Limits of model cost and time.
        clock: Determines the day of the account.
        secrets: Values that must never be sent.
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
            role: chat if isinstance(chat, FallbackChat) else FallbackChat([chat])
            for role, chat in chats.items()
        }
        self._till = Billing(ledger, prices)
        self._limits = limits
        self._clock = clock
        self._secrets = prepare_needles(secrets)

    def of(self, request: MissionRequest, policy: RepositoryPolicy) -> "ModelMind | None":
        """Return a mission's models; None if there is none, or no money for a paid one."""
        account = build_account(request, policy, self._limits, self._clock.now().date())
        chats = {
            role: chat
            for role, chat in self._chats.items()
            if not account.is_penniless or all(self._till.is_free(one.name) for one in chat.chats)
        }
        return (
            ModelMind(chats, self._till, account, self._limits, secrets=self._secrets)
            if chats
            else None
        )

    async def close(self) -> None:
        """Close all connections."""
        # Several roles may share one chat.
        for chat in {id(chat): chat for chat in self._chats.values()}.values():
            await chat.close()


class ModelMind:
    """Answers the questions of one mission.

    Args:
        chats: Models by role.
        till: Bills the calls.
        account: Account of the mission.
        limits: Timeouts of answers.
        secrets: Values that must never be sent.
    """

    def __init__(
        self,
        chats: Mapping[Role, FallbackChat],
        till: Billing,
        account: Account,
        limits: ModelLimits,
        *,
        secrets: Needles,
    ) -> None:
        self._chats = chats
        self._till = till
        self._account = account
        self._limits = limits
        self._washer = Sanitizer(secrets)

    @property
    def judging(self) -> Judging:
        """Return when the judging stages ask a model."""
        if not self.has(Role.JUDGE):
            return Judging.NEVER
        judging = self._limits.judging
        return Judging.WHEN_UNSURE if judging == "auto" else judging

    def has(self, role: Role) -> bool:
        """Return True if there is a model for this role."""
        return role in self._chats

    async def forecast(self) -> Forecast | None:
        """Return the expected use of models by a mission; None if the ledger cannot be read."""
        asked = {Role.FIX} if self.judging is Judging.NEVER else set(Role)
        models = {role: chat.chats[0].name for role, chat in self._chats.items() if role in asked}
        try:
            return await self._till.forecast(models)
        except StoreError as error:
            log.warning("reading the ledger for a forecast failed: %s", error.message)
            return None

    async def ask(self, question: Question, returns: type[M]) -> tuple[M, tuple[ModelCall, ...]]:
        """Ask for a message of this type; each model gets one repair turn.

        Args:
            question: The question.
            returns: A message type of the protocol.

        Raises:
            ModelError: No model gave a usable answer; `calls` has the cost.
        """
        if not issubclass(returns, Message):
            raise TypeError(f"{returns.__name__} is not a message of the protocol")
        asking = self._asking(question)
        found = await self._first(
            asking, lambda chat, share_s: asking.message(chat, share_s, returns)
        )
        return found, tuple(asking.calls)

    async def write(self, question: Question) -> Written:
        """Ask for free text.

        Args:
            question: The question.

        Raises:
            ModelError: No model gave a usable answer; `calls` has the cost.
        """
        asking = self._asking(question)
        answer = await self._first(
            asking, lambda chat, share_s: asking.answer(chat, share_s, asking.prompt)
        )
        *failed, call = asking.calls
        return Written(text=answer.text, finish=answer.finish, call=call, failed=tuple(failed))

    def _asking(self, question: Question) -> "_Asking":
        if not self.has(question.role):
            message = f"no model is configured for the role {question.role.value!r}"
            raise ModelError(message, "configure one", trouble=ModelTrouble.BAD_REQUEST)
        return _Asking(question, self._till, self._account, self._washer)

    async def _first(
        self, asking: "_Asking", ask: Callable[[Chat, float], Awaitable[Answer]]
    ) -> Answer:
        """Return the answer of the first model with a usable one."""
        chat = self._chats[asking.question.role]
        agents = sum(is_cli(one.name) for one in chat.chats)
        limits = self._limits
        # Command-line agents have a longer timeout than HTTP models.
        deadline_s = limits.cli_timeout_s * agents + limits.timeout_s * (len(chat.chats) - agents)
        try:
            return await chat.first(ask, deadline_s=deadline_s)
        except ModelError as error:
            error.calls = tuple(asking.calls)
            raise


class _Asking:
    """State of one active question: its answers and their cost."""

    def __init__(
        self, question: Question, till: Billing, account: Account, washer: Sanitizer
    ) -> None:
        self.question = question
        self.prompt = render_question(question, washer)
        self.calls: list[ModelCall] = []
        self._till = till
        self._account = account
        self._washer = washer
        # Another version of the prompt is another question.
        own = f"{question.key}|{self.prompt.name}" if question.key else ""
        self._key = own or hash_prompt(self.prompt)
        self._answers = 0

    async def answer(self, chat: Chat, deadline_s: float, prompt: Prompt) -> Completion:
        """Ask one model.

        Raises:
            ModelError: The model failed or refused to answer.
        """
        # The key counts answers of all models, so that a repeated mission gets the same answers in
        # order.
        key = f"{self._key}:{self._answers}"
        question = self.question
        call = ModelCall(
            stage=question.stage, role=question.role, model=chat.name, prompt=prompt.name
        )
        try:
            answer, paid = await self._till.pay(
                self._account,
                call,
                prompt,
                key=key,
                complete=lambda: chat.complete(prompt, deadline_s=deadline_s),
            )
        except ModelError as error:
            self.calls += error.calls
            raise
        self.calls.append(paid)
        self._answers += 1
        if answer.finish is Finish.REFUSAL:
            raise ModelError(f"{chat.name} refused to answer", trouble=ModelTrouble.REFUSAL)
        return answer

    async def message(self, chat: Chat, deadline_s: float, returns: type[P]) -> P:
        """Ask one model for a message, with one repair turn if the answer is unusable.

        Raises:
            ModelError: No answer was usable.
        """
        until = time.monotonic() + deadline_s
        prompt = self.prompt
        if chat.can_hold_to_schema:
            prompt = prompt.with_(json_schema=build_schema(returns))
        answer = await self.answer(chat, deadline_s, prompt)
        message, problem = self._read(answer, returns)
        if message is None and until > time.monotonic():
            values = {"answer": answer.text, "problem": problem, "kind": returns.type}
            again = render_repair(self.question, prompt, self._washer, **values)
            second = await self._again(chat, again, until, cut=answer.finish is Finish.LENGTH)
            message, problem = self._read(second, returns)
        if message is None:
            raise ModelError(
                f"{chat.name} gave no readable {returns.type}", trouble=ModelTrouble.UNREADABLE
            )
        return message

    async def _again(self, chat: Chat, prompt: Prompt, until: float, *, cut: bool) -> Completion:
        """Ask once more; after an answer that was cut off with a higher limit.

        There is no third turn, so the limit is raised as far as it ever is: a model that reasons
        would be cut off again.
        """
        if cut:
            raised = prompt.with_(max_tokens=LONGEST_ANSWER * prompt.max_tokens)
            try:
                return await self.answer(chat, until - time.monotonic(), raised)
            except ModelError as error:
                if error.trouble not in _LIMIT_REFUSED:
                    raise
        return await self.answer(chat, until - time.monotonic(), prompt)

    def _read(self, answer: Completion, returns: type[P]) -> tuple[P | None, str]:
        """Parse the message in an answer, or describe the problem."""
        found = extract(answer.text, returns, echoed=self.prompt.user)
        if answer.finish is Finish.LENGTH and not found.closed:
            return (
                None,
                f"it was cut off after {self.prompt.max_tokens} tokens: answer more briefly",
            )
        return found.message, found.problem
