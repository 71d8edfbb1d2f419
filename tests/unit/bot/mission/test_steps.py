"""Steps: values remembered, time measured inside, trouble turned into an outcome."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest
from pydantic import BaseModel
from typing_extensions import override

from bot.domain.account import Grant
from bot.domain.mission import Budget, Outcome
from bot.domain.model import Spend
from bot.errors import BudgetSpent, GitHubError, MetaAgentError, RateLimited, Superseded
from bot.mission.mind import Billed
from bot.mission.steps import Ended, StepResult, Steps, classify_error
from bot.queue.memory import MemoryCheckpoint
from sandbox.errors import (
    ChangeRejected,
    HostGone,
    ImportRejected,
    SandboxDied,
    SandboxError,
    SandboxUnavailable,
    SetupFailed,
)
from sandbox.types import SourceDiff
from tests.fakes.fixed_clock import FixedClock

Value = TypeVar("Value", bound=BaseModel)
VALUE = SourceDiff(files={"a.py": (1,)})


async def value() -> SourceDiff:
    return VALUE


@pytest.mark.anyio
async def test_a_step_gives_its_value_and_its_time() -> None:
    steps = Steps("m-1", MemoryCheckpoint(through_json=True), FixedClock(step=0.5))
    assert await steps.run("one", SourceDiff, value) == VALUE
    assert await steps.run("two", SourceDiff, value) == VALUE
    assert steps.seconds == 1.0


@pytest.mark.anyio
async def test_trouble_ends_with_a_reference_to_the_step() -> None:
    async def fails() -> SourceDiff:
        raise SandboxDied("gone")

    steps = Steps("m-1", MemoryCheckpoint(through_json=True), FixedClock())
    with pytest.raises(Ended) as caught:
        await steps.run("one", SourceDiff, fails)
    assert caught.value.trouble.outcome is Outcome.ERROR
    assert caught.value.trouble.reference == "m-1:one"


class Patient(MemoryCheckpoint):
    """Tries a step again when GitHub turns it away, as the engine does."""

    @override
    async def step(
        self, name: str, returns: type[Value], call: Callable[[], Awaitable[Value]]
    ) -> Value:
        try:
            return await super().step(name, returns, call)
        except (GitHubError, SandboxError):
            return await super().step(f"{name}#2", returns, call)


@pytest.mark.anyio
async def test_what_github_may_grant_later_is_left_to_the_checkpoint() -> None:
    answers: list[SourceDiff | GitHubError] = [RateLimited("wait", retry_after_s=1.0), VALUE]

    async def limited() -> SourceDiff:
        answer = answers.pop(0)
        if isinstance(answer, GitHubError):
            raise answer
        return answer

    assert (
        await Steps("m-1", Patient(through_json=True), FixedClock()).run("one", SourceDiff, limited)
        == VALUE
    )


@pytest.mark.anyio
@pytest.mark.parametrize("error", [HostGone("Docker does not answer."), SandboxDied("gone")])
async def test_a_step_whose_sandbox_went_away_is_left_to_the_checkpoint_and_has_another_one(
    error: SandboxError,
) -> None:
    answers: list[SourceDiff | SandboxError] = [error, VALUE]
    lost: list[int] = []

    async def fragile() -> SourceDiff:
        answer = answers.pop(0)
        if isinstance(answer, SandboxError):
            raise answer
        return answer

    async def lose() -> None:
        lost.append(len(answers))

    steps = Steps("m-1", Patient(through_json=True), FixedClock())
    steps.lost = lose
    assert await steps.run("one", SourceDiff, fragile) == VALUE
    assert lost == [1], "once, before the second try"


def test_people_are_told_whose_fault_a_host_is_that_does_not_come_back() -> None:
    trouble = classify_error(HostGone("Docker does not answer.", "Start it."), "m-1:one")
    assert trouble.outcome is Outcome.ERROR
    assert trouble.reason == "Docker does not answer: not the fault of this repository"
    assert trouble.advice.startswith("Start it; the operator of MetaAgent")
    assert "Re-run the check" in trouble.advice


@pytest.mark.parametrize(
    "error", [HostGone("Docker does not answer.", "Start it."), SandboxUnavailable("No pip.", "x")]
)
def test_at_a_terminal_the_outcome_is_told_once_with_the_next_step(
    error: SandboxError, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("WARNING")
    trouble = classify_error(error, "local:1:one", at_terminal=True)
    assert caplog.records == []
    assert "whoever" not in trouble.advice
    assert not isinstance(error, HostGone) or "run the same command again" in trouble.advice
    classify_error(error, "m-1:one")
    assert len(caplog.records) == 1, "a service's log has it"


@pytest.mark.anyio
async def test_what_github_never_grants_is_trouble() -> None:
    async def away() -> SourceDiff:
        raise GitHubError("GitHub did not answer in time", retryable=True)

    with pytest.raises(Ended) as caught:
        await Steps("m-1", MemoryCheckpoint(), FixedClock()).run("one", SourceDiff, away)
    assert caught.value.trouble.outcome is Outcome.ERROR
    assert caught.value.trouble.reference == "m-1:one"


@pytest.mark.anyio
async def test_an_unexpected_exception_is_not_hidden() -> None:
    async def breaks() -> SourceDiff:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await Steps("m-1", MemoryCheckpoint(), FixedClock()).run("one", SourceDiff, breaks)


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (SetupFailed("x"), Outcome.ENV_UNBUILDABLE),
        (ImportRejected("x"), Outcome.ENV_UNBUILDABLE),
        (SandboxUnavailable("x"), Outcome.ERROR),
        (SandboxDied("x"), Outcome.ERROR),
        (ChangeRejected("x"), Outcome.ERROR),
        (Superseded("x"), Outcome.STALE),
        (GitHubError("x"), Outcome.ERROR),
    ],
)
def test_every_error_has_an_outcome(error: SandboxError | MetaAgentError, outcome: Outcome) -> None:
    assert classify_error(error, "here").outcome is outcome


def test_the_end_of_a_failed_set_up_is_in_the_advice() -> None:
    trouble = classify_error(
        SetupFailed("x", "pin it", log="first\n" + "y" * 5000 + "last"), "here"
    )
    assert trouble.advice.startswith("pin it")
    assert trouble.advice.endswith("last")
    assert len(trouble.advice) < 1600


def test_a_remembered_step_survives_json() -> None:
    done = StepResult[SourceDiff](value=VALUE, seconds=1.5)
    assert StepResult[SourceDiff].model_validate_json(done.model_dump_json()) == done


class Metered:
    """Grants what a test says."""

    def __init__(self, clock: FixedClock, *grants: Grant) -> None:
        self._clock = clock
        self.grants = list(grants)
        self.asked: list[tuple[float, float]] = []
        self.closed: list[float] = []

    async def before(self, spent_s: float, own: Grant) -> Grant:
        self._clock.advance(100.0)  # held while everything is paused: nobody's time
        self.asked.append((spent_s, own.seconds))
        if not self.grants:
            raise BudgetSpent("the day is over", "wait")
        return self.grants.pop(0)

    async def close(self, spent_s: float) -> None:
        self.closed.append(spent_s)

    async def bill(self) -> Spend:
        return Spend()


def limited(seconds: float, clock: FixedClock) -> Steps:
    checkpoint = MemoryCheckpoint(through_json=True)
    return Steps("m-1", checkpoint, clock, Billed(None, Budget(seconds=seconds)))


@pytest.mark.anyio
async def test_a_step_is_broken_off_when_the_mission_s_time_is_over_and_none_follows() -> None:
    async def endless() -> SourceDiff:
        await asyncio.Event().wait()
        return VALUE

    steps = limited(0.05, FixedClock(step=0.1))
    for name in ("one", "two"):
        with pytest.raises(Ended) as caught:
            await steps.run(name, SourceDiff, endless)
        assert caught.value.trouble.outcome is Outcome.BUDGET
        assert caught.value.trouble.reason == "the time for one mission (0 s) is spent"
    assert steps.seconds == 0.1


@pytest.mark.anyio
async def test_a_time_limit_of_the_step_s_own_is_not_the_mission_s() -> None:
    async def gives_up() -> SourceDiff:
        raise TimeoutError

    with pytest.raises(TimeoutError):
        await limited(9.0, FixedClock()).run("one", SourceDiff, gives_up)


@pytest.mark.anyio
async def test_the_meter_is_asked_before_every_step_and_what_it_refuses_is_the_outcome() -> None:
    clock = FixedClock(step=0.5)
    steps = limited(60.0, clock)
    steps.meter = meter = Metered(
        clock, Grant(seconds=60.0, limit="all"), Grant(seconds=0.02, limit="the day's time")
    )
    await steps.run("one", SourceDiff, value)

    async def slow() -> SourceDiff:
        await asyncio.sleep(5.0)
        return VALUE

    for name, said in (("two", "the day's time is spent"), ("three", "the day is over")):
        with pytest.raises(Ended) as caught:
            await steps.run(name, SourceDiff, slow)
        assert (caught.value.trouble.outcome, caught.value.trouble.reason) == (Outcome.BUDGET, said)
    assert meter.asked == [(0.0, 60.0), (0.5, 59.5), (1.0, 59.0)]
    await steps.close()
    assert meter.closed == [1.0]


@pytest.mark.anyio
async def test_the_time_of_a_step_that_is_cancelled_is_booked() -> None:
    clock = FixedClock(step=0.5)
    steps = limited(60.0, clock)
    steps.meter = meter = Metered(clock, Grant(seconds=60.0, limit="all"))
    begun = asyncio.Event()

    async def endless() -> SourceDiff:
        begun.set()
        await asyncio.Event().wait()
        return VALUE

    task = asyncio.create_task(steps.run("one", SourceDiff, endless))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    clock.advance(7.0)
    await steps.close()
    assert meter.closed == [7.5]
