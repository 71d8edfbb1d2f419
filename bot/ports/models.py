"""Language models: one model, the models of a mission, and the ledger of their costs."""

from asyncio import StreamReader, StreamWriter
from typing import Protocol, TypeVar

from pydantic import BaseModel

from bot.domain.account import Account, Reserved
from bot.domain.forecast import Forecast, MissionUsage
from bot.domain.model import Completion, Judging, ModelCall, Prompt, Question, Role, Spend, Written
from bot.domain.policy import RepositoryPolicy
from bot.domain.request import MissionRequest
from sandbox.types import Errand

Message = TypeVar("Message", bound=BaseModel)


class Chat(Protocol):
    """One model of one provider. Text in, text out: no memory, and tool calls are text."""

    @property
    def name(self) -> str:
        """Return the name without address and key: `openai-chat:gpt-…`."""
        ...

    @property
    def can_hold_to_schema(self) -> bool:
        """Return True if the server accepts `json_schema`; becomes False after a refusal."""
        ...

    async def complete(self, prompt: Prompt, *, deadline_s: float) -> Completion:
        """Return an answer within the deadline, including retries.

        Raises:
            ModelError: there is no answer; states the reason, and whether another model may help.
        """
        ...

    async def close(self) -> None:
        """Close the connections."""
        ...


class Mind(Protocol):
    """The models of one mission: renders prompts, pays within the limits and parses answers."""

    @property
    def judging(self) -> Judging:
        """Return when the judging stages ask; `NEVER` without a model for that role."""
        ...

    def has(self, role: Role) -> bool:
        """Return True if a model is configured for this role."""
        ...

    async def forecast(self) -> Forecast | None:
        """Return the expected use of models by a mission; None if it is unknown."""
        ...

    async def ask(
        self, question: Question, returns: type[Message]
    ) -> tuple[Message, tuple[ModelCall, ...]]:
        """Return an answer of this type, after at most one repair turn.

        Raises:
            ModelError: no model gave a usable answer; `calls` holds the costs.
        """
        ...

    async def write(self, question: Question) -> Written:
        """Return free text.

        Raises:
            ModelError: no model gave an answer; `calls` holds the costs.
        """
        ...


class Minds(Protocol):
    """A factory of the models of each mission."""

    def of(self, request: MissionRequest, policy: RepositoryPolicy) -> Mind | None:
        """Return a mission's models.

        None without a configured model or without money in the policy.
        """
        ...


class AgentDoor(Protocol):
    """The only network access of an agent's sandbox: one model, within the mission's money.

    The key stays outside the sandbox.
    """

    @property
    def name(self) -> str:
        """Return the name: `codex-cli:gpt-…`."""
        ...

    @property
    def calls(self) -> tuple[ModelCall, ...]:
        """Return the model calls made through this door."""
        ...

    def errand(self, question: Question, *, wall_s: float) -> Errand:
        """Return the agent's task and start command."""
        ...

    async def answer(self, reader: StreamReader, writer: StreamWriter) -> None:
        """Answer one request from the sandbox."""
        ...


class AgentDoors(Protocol):
    """A factory of the door of each mission."""

    def of(self, request: MissionRequest, policy: RepositoryPolicy) -> AgentDoor | None:
        """Return the door of a mission; None when the policy allows no money."""
        ...


class Ledger(Protocol):
    """The ledger of model costs. A cost is reserved before a call and settled after it.

    A mission never pays twice for the same answer.
    """

    async def reserve(self, account: Account, key: str, call: ModelCall) -> Reserved:
        """Reserve the maximum cost of a call, atomically with the check of every limit.

        Args:
            account: The account to book on.
            key: Identifies the question in its mission; an earlier answer to it is returned.
            call: The call, with `reserved_usd`.

        Raises:
            ModelError: with the trouble `budget`, when a limit would be exceeded.
        """
        ...

    async def settle(self, reservation: int, call: ModelCall, answer: Completion | None) -> None:
        """Record the actual cost; the answer is stored for a repeated run of the mission."""
        ...

    async def spent(self, account: Account) -> dict[str, Spend]:
        """Return the spending of the `mission`, `pull_request`, `repository`, `day` and `total`."""
        ...

    async def recent_missions(self) -> tuple[MissionUsage, ...]:
        """Return the use of models by recent missions, the newest first."""
        ...
