"""What the ledger in a file does besides: what is old goes, all repositories have one limit, trouble is no money."""

import logging
from pathlib import Path

import pytest

from bot.domain.account import Account
from bot.domain.model import Completion, ModelCall, ModelTrouble, Role, Usage
from bot.domain.model_error import ModelError
from bot.ledger.calls import CallLedger
from tests.accounts import an_account
from tests.databases import LosesAnAnswer, a_database

pytestmark = pytest.mark.anyio

CALL = ModelCall(stage="plan", role=Role.JUDGE, model="openai-chat:small", reserved_usd=0.2)


async def paid(ledger: CallLedger, account: Account, **changes: object) -> None:
    reserved = await ledger.reserve(account, "k", CALL)
    await ledger.settle(reserved.id, CALL.with_(cost_usd=0.2, **changes), Completion(text="yes"))


async def test_all_repositories_together_have_a_limit_of_their_own(tmp_path: Path) -> None:
    ledger = CallLedger(a_database(tmp_path))
    await paid(ledger, an_account())
    await paid(ledger, an_account(repository="acme/else", mission="m-2"))
    third = an_account(repository="third/one", mission="m-3", usd_per_day_total=0.5)
    with pytest.raises(ModelError, match="usd_per_day_total"):
        await ledger.reserve(third, "k", CALL)
    await ledger.reserve(third.with_(day="2026-01-03"), "k", CALL)
    assert (await ledger.spent(an_account(repository="third/one")))["total"].cost_usd == 0.4


async def test_a_process_that_died_between_leaves_what_it_set_aside_as_spent(
    tmp_path: Path,
) -> None:
    await CallLedger(a_database(tmp_path)).reserve(an_account(), "k", CALL)
    again = CallLedger(a_database(tmp_path))
    with pytest.raises(ModelError, match="usd_per_mission"):
        await again.reserve(an_account(usd_per_mission=0.3), "k", CALL)


async def test_answers_go_after_two_weeks_and_calls_after_a_year(tmp_path: Path) -> None:
    ledger = CallLedger(a_database(tmp_path))
    await paid(ledger, an_account())
    await ledger.reserve(an_account(mission="later", day="2026-01-20"), "k", CALL)
    assert (await ledger.reserve(an_account(), "k", CALL)).answer is None
    await ledger.reserve(an_account(mission="much later", day="2027-02-01"), "k", CALL)
    assert (await ledger.spent(an_account()))["mission"].calls == 0


async def test_a_ledger_that_cannot_be_written_lets_nothing_be_spent(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    ledger = CallLedger(a_database(tmp_path / "file"))
    with pytest.raises(ModelError) as caught:
        await ledger.reserve(an_account(), "k", CALL)
    assert caught.value.trouble is ModelTrouble.BUDGET
    (tmp_path / "file").unlink()
    assert (await ledger.reserve(an_account(), "k", CALL)).id == 1, (
        "and is used again once it can be"
    )


async def test_a_call_is_set_aside_once_though_the_server_s_answer_was_lost(tmp_path: Path) -> None:
    real = a_database(tmp_path)
    ledger, account = (
        CallLedger(LosesAnAnswer(real), patience_s=0.01),
        an_account(usd_per_mission=0.3),
    )
    reserved = await ledger.reserve(account, "k", CALL)
    assert real.run(lambda tx: tx.execute("SELECT id, counted FROM call")) == [(reserved.id, 0.2)]
    await ledger.settle(reserved.id, CALL.with_(cost_usd=0.1), None)
    assert (await ledger.reserve(account, "k", CALL)).id != reserved.id, (
        "another call is another one"
    )


async def test_what_cannot_be_settled_is_told_and_breaks_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("no folder")
    await CallLedger(a_database(tmp_path / "file")).settle(1, CALL, None)
    assert "settling a model call failed" in caplog.text


async def test_every_call_is_one_line_for_the_metrics(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, logger="bot.ledger"):
        await paid(
            CallLedger(a_database(tmp_path)),
            an_account(),
            usage=Usage(input_tokens=7, output_tokens=3),
        )
    line = caplog.records[-1].__dict__
    assert (line["gen_ai.provider.name"], line["gen_ai.request.model"]) == ("openai-chat", "small")
    assert (line["gen_ai.usage.input_tokens"], line["gen_ai.usage.output_tokens"]) == (7, 3)
    assert line["metaagent.cost_usd"] == 0.2
    assert "error.type" not in line
