"""Any model supported by pydantic-ai, such as Bedrock and Vertex, if the library is installed.

The library reads its providers' keys from the environment.
"""

import asyncio
import importlib
import importlib.util
import time
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from bot.domain.model import Completion, Finish, ModelTrouble, Prompt, Usage
from bot.domain.model_error import ModelError
from bot.errors import SettingsError

LIBRARY = "pydantic_ai"
_FINISHES = MappingProxyType(
    {
        "stop": Finish.STOP,
        None: Finish.STOP,
        "length": Finish.LENGTH,
        "content_filter": Finish.REFUSAL,
    }
)
_TROUBLES: Mapping[str, ModelTrouble] = MappingProxyType(
    {
        "ModelContextWindowExceededError": ModelTrouble.TOO_LARGE,
        "ModelAuthenticationError": ModelTrouble.AUTH,
        "ModelQuotaExceededError": ModelTrouble.RATE_LIMIT,
        "ModelRateLimitError": ModelTrouble.RATE_LIMIT,
        "ModelUnavailableError": ModelTrouble.OVERLOADED,
        "ModelTimeoutError": ModelTrouble.TIMEOUT,
        "ModelRequestTimeout": ModelTrouble.TIMEOUT,
        "ModelConnectionError": ModelTrouble.TRANSPORT,
        "ModelServerError": ModelTrouble.TRANSPORT,
        "ModelRequestRejectedError": ModelTrouble.BAD_REQUEST,
        "ModelNotFoundError": ModelTrouble.BAD_REQUEST,
        "ContentFilterError": ModelTrouble.REFUSAL,
        "UserError": ModelTrouble.BAD_REQUEST,
        "ImportError": ModelTrouble.BAD_REQUEST,
    }
)
"""By the name of an error class or a base class. Any other error counts as an unusable answer."""


def build(model: str, options: object = None) -> "PydanticAi":
    """Create a model of pydantic-ai.

    Args:
        model: The library's name of a model, `bedrock:…`; or a model object.
        options: Not used.

    Raises:
        SettingsError: The library is not installed.
    """
    del options
    if importlib.util.find_spec(LIBRARY) is None:
        raise SettingsError(
            "pydantic-ai is not installed", "in MetaAgent's checkout: pip install '.[pydantic-ai]'"
        )
    if not model:
        raise SettingsError("pydantic-ai: no model is named", "write pydantic-ai:PROVIDER:MODEL")
    return PydanticAi(model)


class PydanticAi:
    """A model behind pydantic-ai, which retries by itself.

    Args:
        model: The library's name of a model, or a model object.
    """

    def __init__(self, model: Any) -> None:
        self._model = model

    @property
    def name(self) -> str:
        """Return the model's name, such as `pydantic-ai:bedrock:…`."""
        is_name = isinstance(self._model, str)
        return f"pydantic-ai:{self._model if is_name else type(self._model).__name__}"

    @property
    def can_hold_to_schema(self) -> bool:
        """Return False: the library's structured output would repeat questions uncounted."""
        return False

    async def complete(self, prompt: Prompt, *, deadline_s: float) -> Completion:
        """Return an answer within the deadline.

        Raises:
            ModelError: There was no usable answer.
        """
        started = time.perf_counter()
        try:
            async with asyncio.timeout(deadline_s):
                response = await self._ask(prompt, deadline_s)
        except TimeoutError as error:
            message = f"{self.name} gave no answer within {deadline_s:.0f} s"
            raise ModelError(message, trouble=ModelTrouble.DEADLINE) from error
        except Exception as error:
            # Report only the class name: the message may contain headers.
            raise ModelError(
                f"{self.name}: {type(error).__name__}", trouble=_classify_error(error)
            ) from None
        texts = [part.content for part in response.parts if part.part_kind == "text"]
        return Completion(
            text="".join(texts),
            finish=_FINISHES.get(response.finish_reason, Finish.OTHER),
            usage=Usage(**dict(_usage(response.usage))),
            model=str(response.model_name or "")[:200],
            request_id=str(response.provider_response_id or "")[:200],
            latency_s=round(time.perf_counter() - started, 3),
        )

    async def close(self) -> None:
        """Do nothing; the library manages its connections."""

    async def _ask(self, prompt: Prompt, deadline_s: float) -> Any:
        direct = await asyncio.to_thread(
            importlib.import_module, f"{LIBRARY}.direct"
        )  # takes seconds
        messages = importlib.import_module(f"{LIBRARY}.messages")
        parts = [messages.SystemPromptPart(prompt.system)] if prompt.system else []
        settings = {
            "max_tokens": prompt.max_tokens,
            "temperature": prompt.temperature,
            "seed": prompt.seed,
            "stop_sequences": list(prompt.stop) or None,
            "timeout": deadline_s,
        }
        return await direct.model_request(
            self._model,
            [messages.ModelRequest(parts=[*parts, messages.UserPromptPart(prompt.user)])],
            model_settings={name: value for name, value in settings.items() if value is not None},
        )


def _classify_error(error: Exception) -> ModelTrouble:
    names = (kind.__name__ for kind in type(error).__mro__)
    return next((_TROUBLES[name] for name in names if name in _TROUBLES), ModelTrouble.BAD_RESPONSE)


def _usage(usage: Any) -> Iterator[tuple[str, int]]:
    for name in ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens"):
        yield name, int(getattr(usage, name, 0) or 0)
    yield "reasoning_tokens", int(getattr(usage, "output_reasoning_tokens", 0) or 0)
