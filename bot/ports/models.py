"""Language models: one that completes a prompt, a mind that answers a mission's questions, and the ledger beside it."""

from asyncio import StreamReader, StreamWriter
from typing import Protocol, TypeVar

from pydantic import BaseModel

from bot.domain.account import Account, Reserved
from bot.domain.model import Completion, ModelCall, Prompt, Question, Role, Spend, Written
from bot.domain.policy import RepositoryPolicy
from bot.domain.request import MissionRequest
from sandbox.types import Errand

Message = TypeVar("Message", bound=BaseModel)


class Chat(Protocol):
    """One model behind one provider. Text in, text out: no tools, no memory."""

    @property
    def name(self) -> str:
        """`openai-chat:gpt-…`, without address and key."""
        ...

    @property
    def can_hold_to_schema(self) -> bool:
        """Whether it takes `json_schema`; may turn to False once a server has refused it."""
        ...

    async def complete(self, prompt: Prompt, *, deadline_s: float) -> Completion:
        """An answer within the deadline, retries included.

        Raises:
            ModelError: there is none; says why, and whether another model may do better.
        """
        ...

    async def close(self) -> None:
        """Give back connections."""
        ...


class Mind(Protocol):
    """The models of one mission: renders questions, pays within the limits, and reads the answers."""

    def has(self, role: Role) -> bool:
        """Whether a model is there for this."""
        ...

    async def ask(self, question: Question, returns: type[Message]) -> tuple[Message, tuple[ModelCall, ...]]:
        """A message of this type, after one repair turn at most.

        Raises:
            ModelError: none could be had; `calls` says what that cost.
        """
        ...

    async def write(self, question: Question) -> Written:
        """Free text.

        Raises:
            ModelError: none could be had; `calls` says what that cost.
        """
        ...


class Minds(Protocol):
    """Gives every mission its mind."""

    def of(self, request: MissionRequest, policy: RepositoryPolicy) -> Mind | None:
        """The mind of a mission; None when no model is configured, or the policy allows no money."""
        ...


class AgentDoor(Protocol):
    """The one way out of an agent's sandbox: to one model, within one mission's money. The key stays outside."""

    @property
    def name(self) -> str:
        """`codex-cli:gpt-…`."""
        ...

    @property
    def calls(self) -> tuple[ModelCall, ...]:
        """What was asked through it."""
        ...

    def errand(self, question: Question, *, wall_s: float) -> Errand:
        """What the agent is sent with: its task, and how it is started."""
        ...

    async def answer(self, reader: StreamReader, writer: StreamWriter) -> None:
        """One request from inside, and its answer."""
        ...


class AgentDoors(Protocol):
    """Gives every mission its door."""

    def of(self, request: MissionRequest, policy: RepositoryPolicy) -> AgentDoor | None:
        """The door of a mission; None when the policy allows no money."""
        ...


class Ledger(Protocol):
    """What was paid for: reserved before a call, settled after it; one mission never pays twice for one answer."""

    async def reserve(self, account: Account, key: str, call: ModelCall) -> Reserved:
        """Set aside what a call may cost at most, atomically with the look at every limit.

        Args:
            account: Whose money.
            key: Names the question within its mission; the same key was paid for before when an answer is there.
            call: With `reserved_usd`.

        Raises:
            ModelError: of the kind `budget`, when a limit would be exceeded.
        """
        ...

    async def settle(self, reservation: int, call: ModelCall, answer: Completion | None) -> None:
        """What it came to; an answer is kept for a mission that is run again."""
        ...

    async def spent(self, account: Account) -> dict[str, Spend]:
        """What `mission`, `pull_request`, `repository` and `day` have come to."""
        ...
