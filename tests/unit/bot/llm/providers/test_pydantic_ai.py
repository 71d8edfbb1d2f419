"""The adapter of pydantic-ai, on a stand-in for the few names of that library it uses."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.domain.model import Finish, ModelTrouble, Prompt, Usage
from bot.domain.model_error import ModelError
from bot.errors import SettingsError
from bot.llm.providers import pydantic_ai

PROMPT = Prompt(system="You repair.", user="Fix it.", max_tokens=9, stop=("END",), seed=3)
MESSAGES = """
class SystemPromptPart:
    def __init__(self, content):
        self.content = content

class UserPromptPart(SystemPromptPart):
    pass

class ModelRequest:
    def __init__(self, parts):
        self.parts = parts
"""
DIRECT = """
import asyncio
from types import SimpleNamespace as Some

class AgentRunError(RuntimeError): ...
class ModelAPIError(AgentRunError): ...
class ModelRequestRejectedError(ModelAPIError): ...
class ModelAuthenticationError(ModelRequestRejectedError): ...
class _HTTPModelAuthenticationError(ModelAuthenticationError): ...

async def model_request(model, messages, *, model_settings):
    if model == "slow":
        await asyncio.sleep(60)
    if model == "locked":
        raise _HTTPModelAuthenticationError("key sk-0123456789 is wrong")
    if model == "broken":
        raise ValueError("no JSON")
    told = " | ".join(f"{type(part).__name__}={part.content}" for part in messages[0].parts)
    settings = ",".join(f"{name}={value}" for name, value in sorted(model_settings.items()))
    usage = Some(input_tokens=10, output_tokens=2, cache_read_tokens=4, cache_write_tokens=0, output_reasoning_tokens=1)
    parts = [Some(part_kind="thinking", content="hm"), Some(part_kind="text", content=told), Some(part_kind="text", content=settings)]
    return Some(parts=parts, usage=usage, model_name=model, provider_response_id=None, finish_reason="length")
"""

pytestmark = pytest.mark.anyio


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A package of that name ahead of everything else."""
    package = tmp_path / "pydantic_ai"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "messages.py").write_text(MESSAGES)
    (package / "direct.py").write_text(DIRECT)
    monkeypatch.syspath_prepend(str(tmp_path))
    before = {
        name: module
        for name, module in sys.modules.items()
        if name.partition(".")[0] == "pydantic_ai"
    }
    for name in before:
        del sys.modules[name]
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] == "pydantic_ai"]:
        del sys.modules[name]
    sys.modules.update(before)


@pytest.mark.usefixtures("library")
async def test_a_prompt_becomes_a_request_and_its_text_an_answer() -> None:
    answer = await pydantic_ai.build("bedrock:m").complete(PROMPT, deadline_s=5)
    assert "SystemPromptPart=You repair. | UserPromptPart=Fix it." in answer.text
    assert answer.text.endswith("max_tokens=9,seed=3,stop_sequences=['END'],timeout=5")
    assert answer.usage == Usage(
        input_tokens=10, output_tokens=2, cache_read_tokens=4, reasoning_tokens=1
    )
    assert (answer.model, answer.finish) == ("bedrock:m", Finish.LENGTH)


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize(
    ("model", "trouble"),
    [
        ("slow", ModelTrouble.DEADLINE),
        ("locked", ModelTrouble.AUTH),
        ("broken", ModelTrouble.BAD_RESPONSE),
    ],
)
async def test_every_error_of_the_library_has_its_kind_and_tells_no_key(
    model: str, trouble: ModelTrouble
) -> None:
    with pytest.raises(ModelError) as caught:
        await pydantic_ai.build(model).complete(PROMPT, deadline_s=0.2)
    assert caught.value.trouble is trouble
    assert "sk-" not in caught.value.message
    assert caught.value.__cause__ is None or trouble is ModelTrouble.DEADLINE


@pytest.mark.usefixtures("library")
def test_a_model_has_to_be_named() -> None:
    with pytest.raises(SettingsError):
        pydantic_ai.build("")
