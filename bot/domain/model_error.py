"""ModelError: a language model gave no answer."""

from bot.domain.model import ModelCall, ModelTrouble
from bot.errors import Fault, MetaAgentError


class ModelError(MetaAgentError):
    """A language model gave no answer.

    Args:
        message: The error, without any key or prompt.
        advice: The recommended action.
        trouble: The kind of error.
        retry_after_s: The wait that the provider requested, in seconds.
        attempts: Requests sent; a server that timed out may have billed them.
        calls: Calls that were paid for nevertheless.
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
        """Return True if a retry, or another model, may help."""
        return self.trouble.retryable
