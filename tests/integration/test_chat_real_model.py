"""A real model behind both wire formats: what scripted servers are believed to do, a real one does."""

import asyncio
from collections.abc import Iterator

import pytest
from pydantic import SecretStr

from bot.domain.model import Finish, ModelTrouble, Prompt
from bot.domain.model_error import ModelError
from bot.llm.providers.named import build
from bot.llm.providers.options import ChatOptions
from bot.ports.models import Chat
from tests.real_model import RealModel, real_model

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

PROMPT = Prompt(system="You answer briefly.", user="Say hello.", max_tokens=2, temperature=0.0, seed=1, cache=True)
STORY = PROMPT.with_(user="Tell a long story.", max_tokens=900)


@pytest.fixture(scope="module")
def served() -> Iterator[RealModel]:
    with real_model(context=1024) as model:
        yield model


def chat(kind: str, served: RealModel, key: str | None = None) -> Chat:
    keys = {kind: SecretStr(key or served.key)}
    return build(f"{kind}:{served.name}@{served.address}", ChatOptions(keys=keys))


@pytest.mark.parametrize("kind", ["openai-chat", "anthropic"])
async def test_a_real_server_answers_limits_and_refuses_in_both_formats(kind: str, served: RealModel) -> None:
    model = chat(kind, served)
    answer = await model.complete(PROMPT, deadline_s=60)
    assert (answer.finish, answer.usage.output_tokens, answer.attempts) == (Finish.LENGTH, 2, 1)
    assert 10 < answer.usage.input_tokens < 40
    assert answer.text
    assert not answer.model.startswith("/")
    with pytest.raises(ModelError) as large:
        await model.complete(PROMPT.with_(user="word " * 3000), deadline_s=60)
    assert large.value.trouble is ModelTrouble.TOO_LARGE
    with pytest.raises(ModelError) as locked:
        await chat(kind, served, "wrong").complete(PROMPT, deadline_s=60)
    assert locked.value.trouble is ModelTrouble.AUTH


@pytest.mark.parametrize("kind", ["openai-chat", "anthropic"])
async def test_a_real_server_is_free_again_after_a_deadline_and_after_a_cancel(kind: str, served: RealModel) -> None:
    model = chat(kind, served)
    with pytest.raises(ModelError) as late:
        await model.complete(STORY, deadline_s=0.5)
    assert late.value.trouble is ModelTrouble.DEADLINE
    task = asyncio.ensure_future(model.complete(STORY, deadline_s=60))
    await asyncio.sleep(0.5)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    # It has one slot: a story that went on would keep it for a minute.
    assert (await model.complete(PROMPT, deadline_s=20)).usage.output_tokens == 2
