"""What every Ledger keeps to."""

import asyncio
import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

from bot.domain.account import Account, Grant
from bot.domain.forecast import MissionUsage
from bot.domain.model import Completion, Finish, ModelCall, ModelTrouble, Role, Usage
from bot.domain.model_error import ModelError
from bot.errors import BudgetSpent
from bot.ledger.calls import CallLedger
from bot.ledger.work import WorkMeter
from bot.ports.models import Ledger
from bot.store.database import Database
from bot.store.opening import open_database
from tests.accounts import an_account
from tests.databases import BOTH, a_database, a_database_of, url_of

pytestmark = pytest.mark.anyio

ANSWER = Completion(
    text="type: plan_task", finish=Finish.STOP, usage=Usage(input_tokens=900, output_tokens=100)
)


@pytest.fixture(params=BOTH)
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Database:
    return a_database_of(request.param, request, tmp_path)


@pytest.fixture
def ledger(database: Database) -> Ledger:
    return CallLedger(database, patience_s=0.0)


def a_call(reserved_usd: float = 0.1, **changes: object) -> ModelCall:
    values = {
        "stage": "fix",
        "role": Role.FIX,
        "model": "anthropic:strong",
        "reserved_usd": reserved_usd,
    }
    return ModelCall.model_validate(values | changes)


async def paid(ledger: Ledger, account: Account, key: str, cost_usd: float | None) -> None:
    reserved = await ledger.reserve(account, key, a_call())
    await ledger.settle(reserved.id, a_call(cost_usd=cost_usd, usage=ANSWER.usage), ANSWER)


async def test_recent_missions_are_the_newest_first_and_know_what_each_role_used(
    database: Database, ledger: Ledger
) -> None:
    assert await ledger.recent_missions() == ()
    for mission in ("m-1", "m-2"):
        for number, stage in enumerate(("fix", "judge", "fix", "agent", "review")):
            account = an_account(mission=mission)
            reserved = await ledger.reserve(account, str(number), a_call(stage=stage))
            usage = Usage(input_tokens=900, output_tokens=100, cache_read_tokens=10)
            await ledger.settle(reserved.id, a_call(stage=stage, usage=usage), ANSWER)
            unanswered = await ledger.reserve(account, f"{number} again", a_call(stage=stage))
            failed = a_call(stage=stage, trouble=ModelTrouble.TIMEOUT)
            await ledger.settle(unanswered.id, failed, None)
    await ledger.reserve(an_account(mission="m-3"), "open", a_call())
    newest, oldest = await ledger.recent_missions()
    both = Usage(input_tokens=1_800, output_tokens=200, cache_read_tokens=20)
    assert newest == oldest == MissionUsage(calls=4, judge=both, fix=both)


async def is_refused(
    ledger: Ledger, account: Account, reserved_usd: float, **changes: object
) -> bool:
    try:
        await ledger.reserve(account, f"try {reserved_usd}", a_call(reserved_usd, **changes))
    except ModelError as error:
        return error.trouble is ModelTrouble.BUDGET and not error.retryable
    return False


async def test_an_empty_ledger_has_spent_nothing(ledger: Ledger) -> None:
    spent = await ledger.spent(an_account())
    assert {"mission", "pull_request", "repository", "day"} <= set(spent)
    assert all(spend.calls == 0 and spend.cost_usd == 0.0 for spend in spent.values())


async def test_a_settled_call_is_booked_for_mission_pull_request_repository_and_day(
    ledger: Ledger,
) -> None:
    await paid(ledger, an_account(), "k", 0.02)
    other_mission = await ledger.spent(an_account(mission="m-2"))
    other_day = await ledger.spent(an_account(mission="m-2", day="2026-01-03"))
    elsewhere = await ledger.spent(an_account(mission="m-3", repository="acme/else"))
    assert [other_mission[name].cost_usd for name in ("mission", "pull_request", "day")] == [
        0.0,
        0.02,
        0.02,
    ]
    assert [other_day[name].cost_usd for name in ("pull_request", "repository", "day")] == [
        0.02,
        0.02,
        0.0,
    ]
    assert all(
        elsewhere[name].calls == 0 for name in ("mission", "pull_request", "repository", "day")
    )
    assert other_mission["day"].usage == ANSWER.usage


async def test_a_price_that_is_not_known_is_counted_as_unknown_and_not_as_nothing(
    ledger: Ledger,
) -> None:
    await paid(ledger, an_account(), "a", None)
    await paid(ledger, an_account(), "b", 0.5)
    spend = (await ledger.spent(an_account()))["mission"]
    assert (spend.calls, spend.unpriced_calls, spend.cost_usd) == (2, 1, 0.5)


async def test_an_answer_that_was_paid_for_comes_back_to_the_same_mission_only(
    ledger: Ledger,
) -> None:
    await paid(ledger, an_account(), "k", 0.02)
    again = await ledger.reserve(an_account(), "k", a_call())
    assert again.answer == ANSWER
    assert (await ledger.reserve(an_account(mission="m-2"), "k", a_call())).answer is None
    assert (await ledger.reserve(an_account(), "other", a_call())).answer is None


async def test_an_answer_paid_for_is_given_back_though_no_money_is_left(ledger: Ledger) -> None:
    await paid(ledger, an_account(), "k", 0.02)
    assert (await ledger.reserve(an_account(usd_per_mission=0.0), "k", a_call())).answer == ANSWER


async def test_a_call_without_an_answer_is_made_again(ledger: Ledger) -> None:
    reserved = await ledger.reserve(an_account(), "k", a_call())
    await ledger.settle(reserved.id, a_call(trouble=ModelTrouble.OVERLOADED), None)
    assert (await ledger.reserve(an_account(), "k", a_call())).answer is None


@pytest.mark.parametrize("limit", ["usd_per_mission", "usd_per_pull_request", "usd_per_day"])
async def test_no_limit_is_passed(ledger: Ledger, limit: str) -> None:
    account = an_account(**{limit: 0.5})
    await paid(ledger, account, "k", 0.2)
    assert await is_refused(ledger, account, 0.31)
    assert not await is_refused(ledger, account, 0.3)
    assert await is_refused(ledger, account, 0.001)


async def test_what_is_set_aside_counts_until_it_is_settled(ledger: Ledger) -> None:
    account = an_account(usd_per_mission=0.5)
    reserved = await ledger.reserve(account, "k", a_call(0.4))
    assert await is_refused(ledger, account, 0.2)
    await ledger.settle(reserved.id, a_call(0.4, cost_usd=0.1), ANSWER)
    assert not await is_refused(ledger, account, 0.2)


async def test_a_refusal_by_the_server_costs_nothing_and_a_silence_what_it_may_have_cost(
    ledger: Ledger,
) -> None:
    account = an_account(usd_per_mission=0.5)
    refused = await ledger.reserve(account, "a", a_call(0.4))
    await ledger.settle(refused.id, a_call(0.4, trouble=ModelTrouble.RATE_LIMIT), None)
    silent = await ledger.reserve(account, "b", a_call(0.2))
    await ledger.settle(silent.id, a_call(0.2, trouble=ModelTrouble.TIMEOUT, attempts=2), None)
    assert await is_refused(ledger, account, 0.2)
    assert not await is_refused(ledger, account, 0.1)


async def test_calls_without_a_price_are_bounded_by_their_number(ledger: Ledger) -> None:
    account = an_account(calls_per_mission=2)
    await paid(ledger, account, "a", None)
    await ledger.reserve(account, "b", a_call(0.0))
    assert await is_refused(ledger, account, 0.0)
    assert not await is_refused(ledger, an_account(mission="m-2", calls_per_mission=2), 0.0)


async def test_no_money_at_all_lets_only_what_is_free_pass(ledger: Ledger) -> None:
    account = an_account(usd_per_mission=0.0)
    assert await is_refused(ledger, account, 0.0001)
    assert not await is_refused(ledger, account, 0.0)


async def test_eight_at_once_against_a_limit_for_three_are_never_more_than_three(
    ledger: Ledger,
) -> None:
    account = an_account(usd_per_day=0.3)
    refused = await asyncio.gather(
        *(is_refused(ledger, account.with_(mission=f"m-{n}"), 0.1) for n in range(8))
    )
    assert sorted(refused) == [False] * 3 + [True] * 5


@pytest.mark.parametrize(
    "limit", ["tokens_per_mission", "tokens_per_day", "tokens_per_day_installation"]
)
async def test_tokens_are_limited_like_money_also_of_models_without_a_price(
    ledger: Ledger, limit: str
) -> None:
    account = an_account(installation="9", **{limit: 5_000})
    first = await ledger.reserve(account, "a", a_call(reserved_tokens=4_000))
    assert await is_refused(ledger, account, 0.0, reserved_tokens=2_000)
    await ledger.settle(first.id, a_call(usage=ANSWER.usage, reserved_tokens=4_000), ANSWER)
    assert not await is_refused(ledger, account, 0.0, reserved_tokens=4_000)
    assert await is_refused(ledger, account, 0.0, reserved_tokens=1)


async def test_an_installation_and_everything_together_have_a_day_of_their_own(
    ledger: Ledger,
) -> None:
    here = {"installation": "9", "usd_per_day_installation": 0.5, "usd_per_day_total": 0.7}
    await paid(ledger, an_account(installation="9"), "k", 0.4)
    other = an_account(mission="m-2", repository="acme/else", **here)
    assert await is_refused(ledger, other, 0.2)
    assert not await is_refused(ledger, other.with_(installation="10"), 0.2)
    assert await is_refused(ledger, other.with_(installation="10"), 0.2)
    assert not await is_refused(ledger, other.with_(day="2026-01-03"), 0.2)


def _in_a_process(url: str, number: int) -> tuple[bool, float]:
    """Whether money was refused, and the seconds that were granted."""
    database = open_database(url)
    account = an_account(
        mission=f"m-{number}",
        usd_per_pull_request=0.3,
        missions_per_pull_request=3,
        seconds_per_day=5_000,
    )

    async def asked() -> tuple[bool, float]:
        refused = await is_refused(CallLedger(database), account, 0.1)
        try:
            return refused, (
                await WorkMeter(database, account).before(0.0, Grant(seconds=1_800.0, limit=""))
            ).seconds
        except BudgetSpent:
            return refused, 0.0

    return asyncio.run(asked())


@pytest.mark.parametrize("kind", BOTH)
async def test_eight_processes_against_limits_for_three_are_never_more_than_three(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    url = url_of(kind, request, tmp_path)
    with ProcessPoolExecutor(8, mp_context=multiprocessing.get_context("spawn")) as pool:
        answers = [f.result() for f in [pool.submit(_in_a_process, url, n) for n in range(8)]]
    assert sorted(refused for refused, _ in answers) == [False] * 3 + [True] * 5
    assert sorted(seconds for _, seconds in answers) == [0.0] * 5 + [1_400.0, 1_800.0, 1_800.0]


async def test_a_ledger_that_could_not_be_used_is_opened_anew_and_holds_nothing_open(
    tmp_path: Path,
) -> None:
    file = tmp_path / "metaagent.sqlite"
    file.write_bytes(b"no database at all, but long enough to be taken for one" * 20)
    ledger = CallLedger(a_database(tmp_path))
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 (names only)
    for _ in range(5):
        with pytest.raises(ModelError) as raised:
            await ledger.reserve(an_account(), "k", a_call())
        assert raised.value.trouble is ModelTrouble.BUDGET
    assert len(os.listdir("/proc/self/fd")) <= before + 1  # noqa: PTH208 (names only)
    file.unlink()
    assert (await ledger.reserve(an_account(), "k", a_call())).id
