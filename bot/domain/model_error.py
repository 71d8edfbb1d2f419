"""A language model gave no answer: why, whether asking again may help, and what it cost."""

from bot.domain.model import ModelCall, ModelTrouble
from bot.errors import Fault, MetaAgentError


class ModelError(MetaAgentError):
    """A language model gave no answer.

    Args:
        message: What happened; never holds a key or a prompt.
        advice: What to do.
        trouble: Which kind of trouble.
        retry_after_s: How long the provider asked to wait.
        attempts: Requests that were sent; a server that was too slow may have billed them.
        calls: What was paid for all the same.
    """

    fault = Fault.PROVIDER

    def __init__(
        self,
        message: str,
        advice: str = "",
        *,
        trouble: ModelTrouble,
        retry_after_s: float | None = None,
        attempts: int = 0,
        calls: tuple[ModelCall, ...] = (),
    ) -> None:
        super().__init__(message, advice)
        self.trouble = trouble
        self.retry_after_s = retry_after_s
        self.attempts = attempts
        self.calls = calls

    @property
    def retryable(self) -> bool:
        """Whether asking again, or another model, may help."""
        return self.trouble.retryable
