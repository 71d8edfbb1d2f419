"""Steps: values remembered, time measured inside, trouble turned into an outcome."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest
from pydantic import BaseModel
from typing_extensions import override

from bot.domain.mission import Outcome
from bot.errors import GitHubError, MetaAgentError, RateLimited, Superseded
from bot.mission.steps import Done, Ended, Steps, trouble_of
from bot.queue.memory import MemoryCheckpoint
from sandbox.errors import ChangeRejected, ImportRejected, SandboxDied, SandboxError, SandboxUnavailable, SetupFailed
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
    async def step(self, name: str, returns: type[Value], call: Callable[[], Awaitable[Value]]) -> Value:
        try:
            return await super().step(name, returns, call)
        except GitHubError:
            return await super().step(f"{name}#2", returns, call)


@pytest.mark.anyio
async def test_what_github_may_grant_later_is_left_to_the_checkpoint() -> None:
    answers: list[SourceDiff | GitHubError] = [RateLimited("wait", retry_after_s=1.0), VALUE]

    async def limited() -> SourceDiff:
        answer = answers.pop(0)
        if isinstance(answer, GitHubError):
            raise answer
        return answer

    assert await Steps("m-1", Patient(through_json=True), FixedClock()).run("one", SourceDiff, limited) == VALUE


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
    assert trouble_of(error, "here").outcome is outcome


def test_the_end_of_a_failed_set_up_is_in_the_advice() -> None:
    trouble = trouble_of(SetupFailed("x", "pin it", log="first\n" + "y" * 5000 + "last"), "here")
    assert trouble.advice.startswith("pin it")
    assert trouble.advice.endswith("last")
    assert len(trouble.advice) < 1600


def test_a_remembered_step_survives_json() -> None:
    done = Done[SourceDiff](value=VALUE, seconds=1.5)
    assert Done[SourceDiff].model_validate_json(done.model_dump_json()) == done
