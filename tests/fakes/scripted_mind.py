"""A mind whose answers are written down before: what was asked is remembered, and nothing is rendered."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeAlias, TypeVar

from pydantic import BaseModel, ValidationError

from bot.domain.forecast import Forecast
from bot.domain.model import (
    Finish,
    Judging,
    ModelCall,
    ModelTrouble,
    Question,
    Role,
    Usage,
    Written,
)
from bot.domain.model_error import ModelError
from bot.domain.policy import RepositoryPolicy
from bot.domain.request import MissionRequest

Message = TypeVar("Message", bound=BaseModel)


class Cut(str):
    """A text that was cut off at the limit of its length."""

    __slots__ = ()


One: TypeAlias = str | Cut | BaseModel | dict[str, object] | ModelTrouble | ModelError
"""Text for `write`, a message or its fields for `ask`, trouble or an error to raise for both."""
Answer: TypeAlias = One | Callable[[Question], One]
Answers: TypeAlias = Answer | Sequence[Answer]


async def _at_once(_: Question) -> None:
    """Nothing happens before an answer."""


class ScriptedMind:
    """Answers by the name of the prompt.

    Args:
        answers: Prompt name to its answer, or to several: one after the other, the last one again and again. What has
            none is answered by `ModelError` of the kind `unreadable`.
        roles: What there are models for.
        cost_usd: Of every call that is made; None has no price.
        money_usd: A call that would exceed this is refused before it is made, as a ledger does.
        judging: When the judging stages ask, if there is a model for it.
        before: Awaited before each answer: to be slow, or to see what else goes on.
    """

    def __init__(
        self,
        answers: Mapping[str, Answers] | None = None,
        *,
        roles: Sequence[Role] = tuple(Role),
        cost_usd: float | None = 0.001,
        money_usd: float | None = None,
        before: Callable[[Question], Awaitable[None]] = _at_once,
        judging: Judging = Judging.WHEN_UNSURE,
    ) -> None:
        self._answers = {name: _as_list(given) for name, given in (answers or {}).items()}
        self._roles = frozenset(roles)
        self._cost_usd = cost_usd
        self._money_usd = money_usd
        self._before = before
        self._judging = judging
        self._given: dict[str, int] = {}
        self.questions: list[Question] = []
        """Everything that was asked, in order, also what got no answer."""
        self.expects: Forecast | None = None
        """What a mission is expected to use."""
        self.calls: list[ModelCall] = []
        """Everything that was paid for."""

    def of(self, request: MissionRequest, policy: RepositoryPolicy) -> "ScriptedMind":
        """It is its own `Minds`."""
        return self

    @property
    def judging(self) -> Judging:
        return self._judging if self.has(Role.JUDGE) else Judging.NEVER

    def has(self, role: Role) -> bool:
        return role in self._roles

    async def forecast(self) -> Forecast | None:
        return self.expects

    async def ask(
        self, question: Question, returns: type[Message]
    ) -> tuple[Message, tuple[ModelCall, ...]]:
        answer, call = await self._answer(question)
        if isinstance(answer, returns):
            return answer, (call,)
        try:
            return returns.model_validate(answer), (call,)
        except ValidationError as error:
            raise _no_answer(ModelTrouble.UNREADABLE, call) from error

    async def write(self, question: Question) -> Written:
        answer, call = await self._answer(question)
        if not isinstance(answer, str):
            raise _no_answer(ModelTrouble.UNREADABLE, call)
        finish = Finish.LENGTH if isinstance(answer, Cut) else Finish.STOP
        return Written(text=answer, finish=finish, call=call)

    def asked(self, prompt: str) -> list[Question]:
        """What was asked with one prompt."""
        return [question for question in self.questions if question.prompt == prompt]

    async def _answer(
        self, question: Question
    ) -> tuple[str | BaseModel | dict[str, object], ModelCall]:
        self.questions.append(question)
        spent = sum(call.cost_usd or 0.0 for call in self.calls)
        if self._money_usd is not None and spent + (self._cost_usd or 0.0) > self._money_usd:
            raise ModelError("the money for this mission is spent", trouble=ModelTrouble.BUDGET)
        await self._before(question)
        answer = self._next(question)
        if isinstance(answer, ModelError):
            raise answer
        call = ModelCall(
            stage=question.stage,
            role=question.role,
            model="scripted:mind",
            prompt=f"{question.prompt}@1",
            trouble=answer if isinstance(answer, ModelTrouble) else None,
            usage=Usage(input_tokens=1_000, output_tokens=100),
            cost_usd=self._cost_usd,
        )
        self.calls.append(call)
        if isinstance(answer, ModelTrouble):
            raise _no_answer(answer, call)
        return answer, call

    def _next(self, question: Question) -> One:
        answers = self._answers.get(question.prompt)
        if not answers:
            return ModelTrouble.UNREADABLE
        number = self._given.get(question.prompt, 0)
        self._given[question.prompt] = number + 1
        answer = answers[min(number, len(answers) - 1)]
        return answer(question) if callable(answer) else answer


def _as_list(given: Answers) -> list[Answer]:
    if isinstance(given, Sequence) and not isinstance(given, str):
        return list(given)
    return [given]


def _no_answer(trouble: ModelTrouble, call: ModelCall) -> ModelError:
    return ModelError(
        f"the scripted model gave no answer ({trouble.value})",
        trouble=trouble,
        calls=(call.with_(trouble=trouble),),
    )
