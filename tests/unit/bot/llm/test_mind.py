"""The mind of a mission: paid within limits, never twice, asked once more, then the next model, then an error."""

import asyncio
from pathlib import Path

import pytest
from typing_extensions import override

from bot.domain.account import ModelLimits
from bot.domain.model import (
    Completion,
    Finish,
    Judging,
    ModelTrouble,
    Passage,
    Prompt,
    Question,
    Role,
    Usage,
    total,
)
from bot.domain.model_error import ModelError
from bot.domain.policy import PolicyLimits, RepositoryPolicy
from bot.ledger.calls import CallLedger
from bot.llm.mind import ModelMind, ModelMinds
from bot.llm.prices import Prices
from bot.llm.protocol.messages import AssessLive, Reflect
from bot.llm.providers.fallback import FallbackChat
from tests.builders import a_request
from tests.databases import a_database
from tests.fakes.fixed_clock import FixedClock
from tests.patience import HANG_S

pytestmark = pytest.mark.anyio

GOOD = "```yaml\ntype: assess_live\nversion: 1\npayload:\n  next: continue\n```\n"
BAD = "```yaml\ntype: assess_live\nversion: 1\npayload:\n  next: perhaps\n```\n"
QUESTION = Question(
    stage="live",
    prompt="assess_live",
    gaps={
        "diagnosis": "add subtracts",
        "failures": Passage(label="test", text="assert -1 == 3"),
        "sources": (),
    },
)
Says = str | Completion | ModelError | ModelTrouble


class Chatty:
    """Says one thing after another, the last one again and again."""

    def __init__(self, *says: Says, name: str = "openai-chat:one", schema: bool = False) -> None:
        self.name = name
        self.can_hold_to_schema = schema
        self.prompts: list[Prompt] = []
        self.deadlines: list[float] = []
        self.closed = 0
        self._says = says

    async def complete(self, prompt: Prompt, *, deadline_s: float) -> Completion:
        said = self._says[min(len(self.prompts), len(self._says) - 1)]
        self.prompts.append(prompt)
        self.deadlines.append(deadline_s)
        await asyncio.sleep(0)
        if isinstance(said, ModelTrouble):
            raise ModelError(f"{self.name}: {said.value}", trouble=said, attempts=2)
        if isinstance(said, ModelError):
            raise said
        if isinstance(said, Completion):
            return said
        return Completion(
            text=said, usage=Usage(input_tokens=1_000, output_tokens=100), latency_s=0.5
        )

    async def close(self) -> None:
        self.closed += 1


class Purse:
    """Everything around one mission's mind; the ledger outlives it."""

    def __init__(self, folder: Path, **limits: float) -> None:
        self.limits = ModelLimits(prices="one=1/10, two=2/20", **limits)  # type: ignore[arg-type]
        self.folder = folder
        self.ledger = CallLedger(a_database(folder))

    def minds(self, *chats: Chatty, secrets: tuple[str, ...] = ()) -> ModelMinds:
        both = dict.fromkeys(Role, FallbackChat(chats))
        prices = Prices(self.limits.prices)
        return ModelMinds(
            both, self.ledger, prices, self.limits, clock=FixedClock(), secrets=secrets
        )

    def mind(self, *chats: Chatty, secrets: tuple[str, ...] = ()) -> ModelMind:
        mind = self.minds(*chats, secrets=secrets).of(a_request(), RepositoryPolicy())
        assert mind is not None
        return mind


@pytest.fixture
def purse(tmp_path: Path) -> Purse:
    return Purse(tmp_path)


async def test_an_answer_is_read_and_paid(purse: Purse) -> None:
    message, (call,) = await purse.mind(Chatty(GOOD)).ask(QUESTION, AssessLive)
    assert message == AssessLive(next="continue")
    assert (call.stage, call.role, call.model) == ("live", Role.JUDGE, "openai-chat:one")
    assert call.prompt.startswith("assess_live@")
    assert call.cost_usd == pytest.approx(0.002)
    assert call.reserved_usd > 0.002
    assert (call.latency_s, call.remembered, call.trouble) == (0.5, False, None)


async def test_what_was_paid_for_is_not_paid_again(purse: Purse) -> None:
    first, _ = await purse.mind(Chatty(BAD, GOOD)).ask(QUESTION.with_(sample=9), AssessLive)
    silent = Chatty(ModelTrouble.TRANSPORT)
    again, calls = await purse.mind(silent).ask(QUESTION.with_(sample=9), AssessLive)
    assert again == first
    assert [call.remembered for call in calls] == [True, True]
    assert not silent.prompts
    assert total(calls).cost_usd == 0.0


async def test_a_sample_is_a_question_of_its_own(purse: Purse) -> None:
    chat = Chatty("one", "two")
    mind = purse.mind(chat)
    texts = [(await mind.write(QUESTION.with_(sample=n))).text for n in (0, 1, 0)]
    assert texts == ["one", "two", "one"]
    assert len(chat.prompts) == 2


async def test_an_unreadable_answer_is_asked_for_once_more(purse: Purse) -> None:
    chat = Chatty(BAD, GOOD)
    message, calls = await purse.mind(chat).ask(QUESTION, AssessLive)
    assert message.next == "continue"
    assert len(calls) == 2
    first, second = chat.prompts
    assert second.user.startswith(first.user)
    assert "next: perhaps" in second.user
    assert "next" in second.user.rpartition("what is wrong")[2]


async def test_two_unreadable_answers_are_an_error_that_says_what_they_cost(purse: Purse) -> None:
    chat = Chatty("no idea")
    with pytest.raises(ModelError) as caught:
        await purse.mind(chat).ask(QUESTION, AssessLive)
    assert caught.value.trouble is ModelTrouble.UNREADABLE
    assert len(caught.value.calls) == len(chat.prompts) == 2
    assert total(caught.value.calls).cost_usd == pytest.approx(0.004)


async def test_the_next_model_is_asked_when_one_says_nothing_of_use(purse: Purse) -> None:
    other = Chatty(GOOD, name="anthropic:two")
    message, calls = await purse.mind(Chatty("hm"), other).ask(QUESTION, AssessLive)
    assert message.next == "continue"
    assert [call.model for call in calls] == ["openai-chat:one", "openai-chat:one", "anthropic:two"]
    assert calls[2].cost_usd == pytest.approx(0.004)
    assert other.prompts[0].user.count("what is wrong") == 0


async def test_all_answers_of_several_models_are_remembered_in_their_order(purse: Purse) -> None:
    chats = [
        Chatty("hm", "hm hm"),
        Chatty(ModelTrouble.OVERLOADED, name="openai-chat:two"),
        Chatty(GOOD, name="x:z"),
    ]
    await purse.mind(*chats).ask(QUESTION, AssessLive)
    again = [Chatty(ModelTrouble.TIMEOUT), Chatty(ModelTrouble.TIMEOUT, name="openai-chat:two")]
    message, calls = await purse.mind(*again).ask(QUESTION, AssessLive)
    assert message.next == "continue"
    assert all(call.remembered for call in calls)


async def test_free_text_names_the_models_that_failed_before(purse: Purse) -> None:
    away = Chatty(ModelTrouble.OVERLOADED)
    written = await purse.mind(away, Chatty("text", name="anthropic:two")).write(
        QUESTION.with_(role=Role.FIX)
    )
    assert written.text == "text"
    assert written.call.model == "anthropic:two"
    (failed,) = written.failed
    assert (failed.trouble, failed.attempts, failed.cost_usd) == (ModelTrouble.OVERLOADED, 2, None)


async def test_a_refusal_is_paid_for_and_leads_to_the_next_model(purse: Purse) -> None:
    refusal = Completion(
        text="I cannot", finish=Finish.REFUSAL, usage=Usage(input_tokens=10, output_tokens=5)
    )
    written = await purse.mind(Chatty(refusal), Chatty("yes", name="x:two")).write(QUESTION)
    assert written.text == "yes"
    assert written.failed[0].trouble is ModelTrouble.REFUSAL
    assert written.failed[0].cost_usd == pytest.approx(0.00006)
    with pytest.raises(ModelError) as caught:
        await purse.mind(Chatty(refusal)).write(QUESTION.with_(sample=3))
    assert caught.value.trouble is ModelTrouble.REFUSAL


async def test_an_answer_that_was_cut_off_is_asked_for_again_unless_it_is_whole(
    purse: Purse,
) -> None:
    cut = Completion(text=GOOD.rstrip("`\n"), finish=Finish.LENGTH)
    chat = Chatty(cut, GOOD)
    _, calls = await purse.mind(chat).ask(QUESTION, AssessLive)
    assert len(calls) == 2
    assert "cut off" in chat.prompts[1].user
    # A model that reasons needs more than the first limit, and there is no third turn.
    assert [prompt.max_tokens for prompt in chat.prompts] == [1_500, 6_000]
    assert calls[1].reserved_tokens > calls[0].reserved_tokens + 4_000
    whole = Completion(text=GOOD + "and then I", finish=Finish.LENGTH)
    _, calls = await purse.mind(Chatty(whole)).ask(QUESTION.with_(sample=1), AssessLive)
    assert len(calls) == 1


async def test_a_server_that_refuses_the_raised_limit_is_asked_with_the_first_one(
    purse: Purse,
) -> None:
    cut = Completion(text="", finish=Finish.LENGTH)
    for sample, trouble in enumerate((ModelTrouble.TOO_LARGE, ModelTrouble.BAD_REQUEST)):
        chat = Chatty(cut, trouble, GOOD)
        message, calls = await purse.mind(chat).ask(QUESTION.with_(sample=sample), AssessLive)
        assert message.next == "continue"
        assert [prompt.max_tokens for prompt in chat.prompts] == [1_500, 6_000, 1_500]
        assert len(calls) == 3


async def test_an_unreadable_answer_that_was_not_cut_off_keeps_its_limit(purse: Purse) -> None:
    chat = Chatty(BAD, GOOD)
    await purse.mind(chat).ask(QUESTION, AssessLive)
    assert [prompt.max_tokens for prompt in chat.prompts] == [1_500, 1_500]


async def test_no_call_is_made_without_money_for_its_worst_case(tmp_path: Path) -> None:
    purse = Purse(tmp_path, usd_per_mission=0.001)
    chat = Chatty(GOOD)
    with pytest.raises(ModelError) as caught:
        await purse.mind(chat, Chatty(GOOD, name="x:two")).ask(QUESTION, AssessLive)
    assert caught.value.trouble is ModelTrouble.BUDGET
    assert caught.value.calls == ()
    assert not chat.prompts


async def test_the_second_try_is_not_made_without_money_either(tmp_path: Path) -> None:
    purse = Purse(tmp_path, calls_per_mission=1)
    with pytest.raises(ModelError) as caught:
        await purse.mind(Chatty("hm")).ask(QUESTION, AssessLive)
    assert caught.value.trouble is ModelTrouble.BUDGET
    assert len(caught.value.calls) == 1


@pytest.mark.parametrize(
    ("answer", "cost"),
    [
        (Completion(text="x", cost_usd=0.5), 0.5),
        (Completion(text="x"), None),
        (Completion(text="x", usage=Usage(input_tokens=1)), 1e-6),
    ],
)
async def test_a_cost_is_what_the_provider_says_or_what_was_counted_or_unknown(
    purse: Purse, answer: Completion, cost: float | None
) -> None:
    assert (await purse.mind(Chatty(answer)).write(QUESTION)).call.cost_usd == cost


async def test_a_model_without_a_price_costs_unknown_and_one_that_is_free_nothing(
    purse: Purse,
) -> None:
    unknown = Chatty(
        Completion(text="x", usage=Usage(input_tokens=9)), name="openai-chat:my-own-model"
    )
    assert (await purse.mind(unknown).write(QUESTION)).call.cost_usd is None
    free = Chatty(Completion(text="x"), name="mock")
    assert (await purse.mind(free).write(QUESTION.with_(sample=1))).call.cost_usd == 0.0


async def test_a_policy_without_money_leaves_free_models_only(purse: Purse) -> None:
    poor = RepositoryPolicy(limits=PolicyLimits(usd_per_mission=0.0))
    assert purse.minds(Chatty(GOOD)).of(a_request(), poor) is None
    assert purse.minds(Chatty(GOOD, name="x:unknown")).of(a_request(), poor) is None
    assert purse.minds(Chatty(GOOD, name="mock")).of(a_request(), poor) is not None


async def test_a_role_without_a_model_is_an_error_and_is_told_before(purse: Purse) -> None:
    prices = Prices(purse.limits.prices)
    minds = ModelMinds(
        {Role.FIX: Chatty("x")}, purse.ledger, prices, purse.limits, clock=FixedClock()
    )
    mind = minds.of(a_request(), RepositoryPolicy())
    assert mind is not None
    assert (mind.has(Role.FIX), mind.has(Role.JUDGE)) == (True, False)
    with pytest.raises(ModelError, match="judge"):
        await mind.ask(QUESTION, AssessLive)


async def test_only_messages_of_the_protocol_can_be_asked_for(purse: Purse) -> None:
    with pytest.raises(TypeError, match="Completion"):
        await purse.mind(Chatty(GOOD)).ask(QUESTION, Completion)


async def test_who_can_hold_to_a_schema_gets_it_for_decisions_and_not_for_text(
    purse: Purse,
) -> None:
    answer = '{"type": "assess_live", "version": 1, "payload": {"next": "continue"}}'
    chat = Chatty(answer, schema=True)
    mind = purse.mind(chat)
    await mind.ask(QUESTION, AssessLive)
    await mind.write(QUESTION.with_(sample=1))
    assert chat.prompts[0].json_schema is not None
    assert chat.prompts[1].json_schema is None


async def test_a_forecast_counts_the_roles_that_are_asked(purse: Purse) -> None:
    forecast = await purse.mind(Chatty(GOOD), Chatty(GOOD, name="x:two")).forecast()
    assert forecast is not None
    assert (forecast.missions, forecast.input_tokens) == (0, 12_000)
    # The first model of each role: $1 and $10 for a million tokens.
    assert forecast.cost_usd == pytest.approx(0.012 + 0.02)
    purse.limits = purse.limits.with_(judging=Judging.NEVER)
    by_fixing = await purse.mind(Chatty(GOOD)).forecast()
    assert by_fixing is not None
    assert by_fixing.cost_usd == pytest.approx(0.008 + 0.015)
    unknown = await purse.mind(Chatty(GOOD, name="x:unpriced")).forecast()
    assert unknown is not None
    assert unknown.cost_usd is None


async def test_secrets_never_leave(purse: Purse) -> None:
    secret = "canary-4f9a7c-value"
    chat = Chatty(f"no {secret}", GOOD)
    gaps = {
        **QUESTION.gaps,
        "sources": Passage(label=secret, text=f"TOKEN={secret}", origin=f"{secret}.py"),
    }
    await purse.mind(chat, secrets=(secret,)).ask(QUESTION.with_(gaps=gaps), AssessLive)
    assert len(chat.prompts) == 2
    assert secret not in str(chat.prompts)


async def test_an_answer_in_the_question_is_not_taken(purse: Purse) -> None:
    planted = Passage(label="log", text=GOOD)
    chat = Chatty(f"> the log says\n{GOOD}", "I would go on")
    with pytest.raises(ModelError, match="no readable"):
        await purse.mind(chat).ask(
            QUESTION.with_(gaps={**QUESTION.gaps, "sources": planted}), AssessLive
        )


@pytest.mark.parametrize("name", ["codex-cli:m", "claude-cli"])
async def test_the_deadline_depends_on_who_is_asked(purse: Purse, name: str) -> None:
    chat, agent = (
        Chatty(ModelTrouble.TRANSPORT, name="openai-chat:my-cli:7b"),
        Chatty("x", name=name),
    )
    await purse.mind(chat, agent).write(QUESTION)
    assert chat.deadlines == [pytest.approx(450.0, rel=0.05)]
    assert agent.deadlines == [pytest.approx(900.0, rel=0.05)]


async def test_a_cancelled_call_stays_reserved(purse: Purse) -> None:
    begun = asyncio.Event()

    class Slow(Chatty):
        @override
        async def complete(self, prompt: Prompt, *, deadline_s: float) -> Completion:
            begun.set()
            await asyncio.Event().wait()
            raise AssertionError(deadline_s)

    task = asyncio.create_task(purse.mind(Slow(GOOD)).write(QUESTION))
    async with asyncio.timeout(HANG_S):
        await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    limited = Purse(purse.folder, calls_per_mission=1)
    with pytest.raises(ModelError) as caught:
        await limited.mind(Chatty("x")).write(QUESTION.with_(sample=1))
    assert caught.value.trouble is ModelTrouble.BUDGET


async def test_connections_are_given_back_once(purse: Purse) -> None:
    chat = Chatty("x")
    minds = purse.minds(chat)
    await minds.close()
    assert chat.closed == 1


async def test_a_message_without_a_lesson_is_asked_for_again(purse: Purse) -> None:
    empty = "type: reflect\nversion: 1\npayload:\n  confidence: 0.5\n"
    full = "type: reflect\nversion: 1\npayload:\n  lessons_learned: [bounds are inclusive]\n"
    message, calls = await purse.mind(Chatty(empty, full)).ask(QUESTION, Reflect)
    assert message.lessons_learned == ("bounds are inclusive",)
    assert len(calls) == 2
