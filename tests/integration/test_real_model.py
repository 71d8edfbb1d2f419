"""A real model of 135 million parameters mends `broken_math` by itself, over every wire format."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from bot.domain.account import ModelLimits
from bot.domain.model import ANY_HOST, Finish, ModelCall, ModelTrouble, Prompt
from bot.domain.model_error import ModelError
from bot.domain.patch import FixBudget
from bot.fixers.rung2_model.agent_tools import TOOLS
from bot.fixers.rung2_model.fixer import ModelFixer
from bot.ledger.calls import CallLedger
from bot.llm.providers.http_chat import Learned
from bot.llm.providers.named import build
from bot.llm.providers.options import ChatOptions
from bot.ports import Chat
from tests.databases import a_database
from tests.fakes.scripted_mind import ScriptedMind
from tests.fakes.scripted_trials import ScriptedTrials
from tests.patience import COMMAND_S, stretched
from tests.real_model import KEY, RealModel, real_model
from tests.unit.bot.fixers.rung2_model.climbs import Climb, mends, minds_with

ROOT = Path(__file__).resolve().parents[2]
SUITE = ROOT / "tests" / "data" / "broken_repos" / "broken_math"

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


@pytest.fixture(scope="module")
def model() -> Iterator[RealModel]:
    with real_model() as served:
        yield served


@pytest.fixture
def broken_math(tmp_path: Path) -> Path:
    """The red working tree."""
    folder = tmp_path / "broken_math"
    shutil.copytree(SUITE / "green", folder)
    shutil.copytree(SUITE / "red", folder, dirs_exist_ok=True)
    return folder


def mission(folder: Path, setting: str, model: RealModel) -> dict[str, Any]:
    """What `metaagent fix` prints when only rung 2 may fix, and only it has a model."""
    options = {
        "model-fix": setting,
        "models-edit-format": "function",
        "models-context-tokens": "1000",
        "models-answer-tokens": "120",
        "models-timeout-s": "120",
        "limits-reruns": "3",
        "data-dir": str(folder.parent / "data"),
    }
    words = [
        "fix",
        str(folder),
        "--test",
        "python -m pytest -q",
        "--rungs",
        "2",
        "--json",
        "--time-limit",
        "600",
    ]
    words += [word for name, value in options.items() for word in (f"--{name}", value)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **model.environment}
    done = subprocess.run(
        [sys.executable, "-m", "bot", *words],
        capture_output=True,
        text=True,
        timeout=COMMAND_S,
        check=False,
        env=environment,
    )
    told: dict[str, Any] = json.loads(done.stdout)
    return told


KINDS = pytest.mark.parametrize("kind", ["openai-chat", "openai-responses", "anthropic"])


@pytest.mark.parametrize("kind", ["openai-chat", "anthropic"])
@pytest.mark.docker
def test_a_real_model_mends_two_functions(
    docker_ready: None, broken_math: Path, model: RealModel, kind: str
) -> None:
    told = mission(broken_math, f"{kind}:{model.name}@{model.address}", model)
    assert (told["outcome"], told["rung"]) == ("FIXED", 2), told["report"]
    assert {"-    return a - b", "-    return n % 2 == 1"} <= set(told["diff"].splitlines())
    assert told["cost_usd"] is None, "nobody knows the price of a model of one's own"
    assert f"  {kind}:{model.name}: " in told["report"]
    assert model.key not in json.dumps(told)


def chat(model: RealModel, kind: str, key: str) -> Chat:
    return build(
        f"{kind}:{model.name}@{model.address}", ChatOptions(keys={ANY_HOST: SecretStr(key)})
    )


@KINDS
async def test_a_real_server_counts_tokens_and_says_when_it_cut_an_answer(
    model: RealModel, kind: str
) -> None:
    prompt = Prompt(
        system="You count.", user="Count from one to twenty.", max_tokens=8, temperature=0.0
    )
    answer = await chat(model, kind, model.key).complete(prompt, deadline_s=120.0)
    assert (answer.finish, answer.usage.output_tokens, bool(answer.text)) == (
        Finish.LENGTH,
        8,
        True,
    )
    assert 10 < answer.usage.input_tokens < 60
    assert not answer.model.startswith("/")


@KINDS
@pytest.mark.parametrize(
    ("key", "user", "trouble"),
    [
        ("not-the-key", "Hello", ModelTrouble.AUTH),
        (KEY, "many words " * 5000, ModelTrouble.TOO_LARGE),
    ],
    ids=["key", "length"],
)
async def test_a_real_servers_refusals_are_understood(
    model: RealModel, kind: str, key: str, user: str, trouble: ModelTrouble
) -> None:
    with pytest.raises(ModelError) as refused:
        await chat(model, kind, key).complete(Prompt(system="", user=user), deadline_s=120.0)
    assert (refused.value.trouble, refused.value.attempts) == (trouble, 1)


@KINDS
async def test_a_real_server_streams_its_answer_and_counts_tokens(
    model: RealModel, kind: str
) -> None:
    learned: Learned = {}
    options = ChatOptions(keys={ANY_HOST: SecretStr(model.key)}, learned=learned)
    asked = build(f"{kind}:{model.name}@{model.address}", options)
    prompt = Prompt(system="You count.", user="Count to twenty.", max_tokens=40, temperature=0.0)
    streamed = await asked.complete(prompt, deadline_s=120.0)
    assert [one.takes("stream") for one in learned.values()] == [True], "it was a stream"
    next(iter(learned.values())).drop("stream")
    whole = await asked.complete(prompt, deadline_s=120.0)
    assert (streamed.text, streamed.finish) == (whole.text, whole.finish)
    assert streamed.usage.output_tokens == whole.usage.output_tokens == 40
    assert streamed.usage.input_tokens == whole.usage.input_tokens


async def test_a_real_server_holds_a_model_to_a_schema(model: RealModel) -> None:
    number = {
        "type": "object",
        "properties": {"n": {"type": "integer"}},
        "required": ["n"],
        "additionalProperties": False,
    }
    prompt = Prompt(
        system="Answer in JSON.",
        user="Name a number.",
        max_tokens=40,
        temperature=0.0,
        json_schema=number,
    )
    answer = await chat(model, "openai-chat", model.key).complete(prompt, deadline_s=120.0)
    assert isinstance(json.loads(answer.text)["n"], int)


@KINDS
async def test_a_real_server_answers_where_tools_are_offered(model: RealModel, kind: str) -> None:
    asked = chat(model, kind, model.key)
    prompt = Prompt(
        system="You call tools.", user="Read the file a.py.", max_tokens=8, tools=TOOLS, seed=1
    )
    answers = [await asked.complete(prompt, deadline_s=120.0) for _ in range(2)]
    assert answers[1].attempts == 1, "what the server refuses is learnt once"
    assert answers[0].usage.output_tokens > 0


async def test_steps_of_an_agent_share_a_prefix_and_are_paid_once(
    model: RealModel, tmp_path: Path
) -> None:
    limits = ModelLimits(fix="agent", agent_steps=2, context_tokens=1_000, answer_tokens=100)
    ledger = CallLedger(a_database(tmp_path))

    async def run() -> tuple[ModelCall, ...]:
        long = limits.model_copy(update={"timeout_s": 240.0})
        minds = minds_with(chat(model, "openai-chat", model.key), ledger, long)
        trials = ScriptedTrials(mends)
        fixer = ModelFixer(minds, trials, limits)
        budget = FixBudget(time_limit_s=stretched(240.0))
        climb = await Climb(ScriptedMind(), trials, fixer=fixer, budget=budget).run()
        return climb.notes[0].calls

    first, again = await run(), await run()
    assert len(first) == 2
    assert first[1].usage.cache_read_tokens > first[0].usage.input_tokens / 2
    assert [call.remembered for call in again] == [True, True]


@KINDS
async def test_a_real_server_is_free_again_after_a_deadline_and_after_a_cancel(
    model: RealModel, kind: str
) -> None:
    asked, story = (
        chat(model, kind, model.key),
        Prompt(system="", user="Tell a long story.", max_tokens=900),
    )
    with pytest.raises(ModelError) as late:
        await asked.complete(story, deadline_s=0.1)
    assert late.value.trouble is ModelTrouble.DEADLINE
    task = asyncio.ensure_future(asked.complete(story, deadline_s=60))
    await asyncio.sleep(0.1)  # a short story is over soon
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    # It has one slot: a story that went on would keep it for a minute.
    assert (await asked.complete(story.with_(max_tokens=2), deadline_s=20)).usage.output_tokens == 2
