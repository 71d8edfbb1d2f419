"""metaagent models check: what is told of models that answer, that do not, and that are not there."""

import asyncio
from pathlib import Path

import pytest
from typing_extensions import override

from bot.domain.account import Account, ModelLimits
from bot.domain.model import Completion, ModelCall, ModelTrouble, Prompt, Role, Usage
from bot.domain.model_error import ModelError
from bot.errors import SettingsError
from bot.ledger.calls import CallLedger
from bot.llm.providers.fallback import FallbackChat
from bot.settings import Settings
from bot.store.opening import open_database
from bot.terminal.models import ModelsOrder, run_models_check, run_models_show
from tests.fakes.model_server import Asked, Reply, Script, calls, refuses, says, served


class Answering:
    """A model that may hold to a schema, and remembers what it has read."""

    def __init__(
        self,
        name: str = "openai-chat:small",
        *,
        holds: bool = True,
        text: str = '{"word": "ready"}',
    ) -> None:
        self.name = name
        self.can_hold_to_schema = holds
        self.text = text
        self.read: set[str] = set()
        self.closed = 0

    async def complete(self, prompt: Prompt, *, deadline_s: float) -> Completion:
        assert deadline_s in {300.0, 600.0}
        kept = 1_000 if prompt.user in self.read else 0
        self.read.add(prompt.user)
        usage = Usage(input_tokens=1_000, output_tokens=10, cache_read_tokens=kept)
        return Completion(text=self.text, usage=usage, model="small-2026")

    async def close(self) -> None:
        self.closed += 1


class Failing(Answering):
    """A model whose key is wrong."""

    @override
    async def complete(self, prompt: Prompt, *, deadline_s: float) -> Completion:
        raise ModelError("the key is refused", "check the key", trouble=ModelTrouble.AUTH)


def settings(folder: Path, prices: str = "") -> Settings:
    return Settings(data_dir=folder, models=ModelLimits(prices=prices))


def test_a_model_that_answers_is_told_with_what_it_can_and_costs(tmp_path: Path) -> None:
    chat = FallbackChat([Answering()])
    result = run_models_check(
        ModelsOrder(),
        settings(tmp_path, "small=1/2"),
        build=lambda _: {Role.JUDGE: chat, Role.FIX: chat},
    )
    (told,) = result.json_object["models"]
    assert result.all_answer
    assert (told["roles"], told["holds_to_schema"], told["caches"]) == (
        ["judge", "fix"],
        True,
        None,
    )
    assert (told["usd_per_million"], told["cost_usd"]) == ([1.0, 2.0], pytest.approx(0.00204))
    assert "openai-chat:small  (judge, fix)" in result.text
    assert "served as small-2026" in result.text
    assert "$1 in, $2 out" in result.text


def test_a_price_nobody_knows_is_unknown_and_not_nothing(tmp_path: Path) -> None:
    result = run_models_check(
        ModelsOrder(),
        settings(tmp_path),
        build=lambda _: {Role.FIX: Answering("openai-chat:no-such-model-anywhere")},
    )
    assert result.json_object["models"][0]["cost_usd"] is None
    assert "price: unknown" in result.text
    assert "this check: unknown" in result.text


@pytest.mark.parametrize(
    ("chat", "holds"),
    [(Answering(), True), (Answering(text="ready!"), False), (Answering(holds=False), None)],
    ids=["held", "not held", "not offered"],
)
def test_holding_to_a_schema_is_seen_in_the_answer(
    tmp_path: Path, chat: Answering, holds: object
) -> None:
    result = run_models_check(ModelsOrder(), settings(tmp_path), build=lambda _: {Role.FIX: chat})
    assert result.json_object["models"][0]["holds_to_schema"] is holds


def held(script: Script) -> Script:
    """A server that enforces a schema; a question with a tool is answered by the script."""

    def answer(asked: Asked) -> Reply:
        has_schema = "response_format" in asked.body or "tool_choice" in asked.body
        return (says('{"word": "ready"}') if has_schema else script)(asked)

    return answer


def ignores_both(asked: Asked) -> Reply:
    other = '{"word": "yes"}' if "tool_choice" in asked.body else "```tool\nreport ready\n```"
    return says(other)(asked)


def takes_no_tools(asked: Asked) -> Reply:
    for name in asked.body.keys() & {"tools", "response_format"}:
        return refuses(400, message=f"{name}: Extra inputs are not permitted")(asked)
    return says("Yes.")(asked)


@pytest.mark.parametrize("kind", ["openai-chat", "anthropic"])
@pytest.mark.parametrize(
    ("script", "known", "words"),
    [
        (held(calls(("report", {"word": "ready"}))), (True, True), ("yes", "yes")),
        (held(says("Ready.")), (True, None), ("yes", "not known")),
        (ignores_both, (False, None), ("no", "not known")),
        (takes_no_tools, (False, False), ("no", "no")),
    ],
    ids=["takes both", "does not call", "writes a call", "refuses both"],
)
def test_schemas_and_tools_are_known_by_what_the_server_answers(
    tmp_path: Path,
    kind: str,
    script: Script,
    known: tuple[bool, bool | None],
    words: tuple[str, str],
) -> None:
    with served(script) as server:
        named = Settings(data_dir=tmp_path, model=f"{kind}:big@{server.openai_url}")
        result = run_models_check(ModelsOrder(), named)
        assert len([asked for asked in server.asked if "report" in asked.user]) <= 2
    (told,) = result.json_object["models"]
    assert (told["holds_to_schema"], told["takes_tools"]) == known
    assert f"holds to a schema: {words[0]}\n  takes tools: {words[1]}\n" in result.text


def test_a_model_that_fails_only_with_a_tool_still_answers(tmp_path: Path) -> None:
    def fails(asked: Asked) -> Reply:
        return (refuses(401) if "report" in asked.user else says())(asked)

    with served(fails) as server:
        named = Settings(data_dir=tmp_path, model=f"openai-chat:big@{server.openai_url}")
        result = run_models_check(ModelsOrder(), named)
    assert result.all_answer
    assert result.json_object["models"][0]["takes_tools"] is None


def test_whether_a_server_keeps_what_it_has_read_is_tried_when_asked_for(tmp_path: Path) -> None:
    result = run_models_check(
        ModelsOrder(caching=True), settings(tmp_path), build=lambda _: {Role.FIX: Answering()}
    )
    assert result.json_object["models"][0]["caches"] is True


def test_one_that_fails_is_told_beside_the_others_and_all_are_closed(tmp_path: Path) -> None:
    good, bad = Answering("codex-cli:m"), Failing("anthropic:m")
    chat = FallbackChat([bad, good])
    result = run_models_check(ModelsOrder(), settings(tmp_path), build=lambda _: {Role.FIX: chat})
    assert not result.all_answer
    assert [one["answers"] for one in result.json_object["models"]] == [False, True]
    assert "NO ANSWER (auth): the key is refused\n  check the key" in result.text
    assert (good.closed, bad.closed) == (1, 1)


def spend(folder: Path, missions: range) -> None:
    """Missions of this installation; their median has 10,000 tokens in and 1,000 out for a fix."""
    database = open_database(Settings(data_dir=folder).engine_url)
    ledger = CallLedger(database)

    async def pay() -> None:
        for number in missions:
            tokens = (5_000, 10_000, 20_000)[number % 3]
            usage = Usage(input_tokens=tokens, output_tokens=1_000)
            for stage in ("fix", "agent"):
                call = ModelCall(stage=stage, role=Role.FIX, model="openai-chat:old", usage=usage)
                account = Account(mission=f"m-{number}", repository="r", day="2026-11-27")
                reserved = await ledger.reserve(account, stage, call)
                await ledger.settle(reserved.id, call, None)

    asyncio.run(pay())
    database.close()


ASSUMED = "3 calls, 12000 tokens in, 2000 out; assumed, without enough missions that asked a model"


def test_the_models_are_listed_without_a_question_and_with_what_a_mission_costs(
    tmp_path: Path,
) -> None:
    chat = Failing("openai-chat:small")
    named = settings(tmp_path, "small=1/2").model_copy(update={"model": "openai-chat:small"})
    result = run_models_show(named, build=lambda _: {Role.JUDGE: chat, Role.FIX: chat})
    assert result.all_answer
    assert result.text.splitlines() == [
        "openai-chat:small  (judge, fix)",
        "  price: $1 in, $2 out for a million tokens",
        "judging: when-unsure; edits: auto",
        f"expected cost of a mission that asks a model: $0.0160 ({ASSUMED})",
    ]
    assert result.json_object["models"] == [
        {"name": "openai-chat:small", "roles": ["judge", "fix"], "usd_per_million": [1.0, 2.0]}
    ]
    assert list(tmp_path.iterdir()) == [], "nothing is written"


def test_the_expected_cost_comes_from_the_ledger_if_it_has_enough_missions(tmp_path: Path) -> None:
    named = settings(tmp_path, "small=1/2")
    build = {Role.FIX: Answering()}
    spend(tmp_path, range(19))
    few = run_models_show(named, build=lambda _: build)
    assert "$0.0110 (3 calls, 8000 tokens in, 1500 out; assumed," in few.text
    spend(tmp_path, range(19, 21))
    for result in (
        run_models_show(named, build=lambda _: build),
        run_models_check(ModelsOrder(), named, build=lambda _: build),
    ):
        assert (
            "expected cost of a mission that asks a model: $0.0120 (1 call, 10000 tokens in, "
            "1000 out; the median of 21 missions that asked a model)" in result.text
        )
        assert result.json_object["mission"]["cost_usd"] == 0.012
    unknown = run_models_show(settings(tmp_path), build=lambda _: build)
    assert "unknown, without a price (1 call, 10000 tokens in" in unknown.text


def test_a_local_model_is_not_expected_to_judge(tmp_path: Path) -> None:
    local = Settings(
        data_dir=tmp_path,
        model="openai-chat:small@http://127.0.0.1:1/v1",
        models=ModelLimits(prices="small=1/2"),
    )
    result = run_models_show(local)
    assert "judging: never; edits: function" in result.text
    assert "$0.0110 (3 calls, 8000 tokens in, 1500 out" in result.text


def test_without_a_model_there_is_nothing_to_ask(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="no model is set"):
        run_models_check(ModelsOrder(), settings(tmp_path))


def test_what_a_setting_names_is_what_is_asked(tmp_path: Path) -> None:
    named = Settings(data_dir=tmp_path, model="mock")
    result = run_models_check(ModelsOrder(), named)
    assert [one["name"] for one in result.json_object["models"]] == ["mock"]
    assert result.all_answer
    assert result.json_object["models"][0]["cost_usd"] == 0.0
