"""What a replay sees is what the first run saw."""

import inspect
from typing import Any

import pytest

import bot.errors
import sandbox.errors
from bot.domain.publication import Publication
from bot.errors import GitHubError, MetaAgentError, RateLimited
from bot.queue.memory import MemoryCheckpoint
from bot.queue.records import StepFailed, keep, keep_error, recall, recalled_error
from sandbox.errors import SandboxError, SetupFailed
from sandbox.types import FileEdit

KINDS = [
    kind
    for module in (bot.errors, sandbox.errors)
    for _, kind in inspect.getmembers(module, inspect.isclass)
    if issubclass(kind, MetaAgentError | SandboxError)
]


def test_a_value_comes_back_as_it_was_even_when_it_is_binary() -> None:
    edit = FileEdit(path="a.bin", mode="100755", content=b"\xff\x00\xfe")
    assert recall(keep(edit), FileEdit) == edit


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_error_of_ours_comes_back_with_its_class_and_what_it_carries(kind: type[Any]) -> None:
    carries: dict[str, dict[str, Any]] = {
        "RateLimited": {"retry_after_s": 3.0},
        "DeliveryRejected": {"status": 400},
    }
    more = carries.get(kind.__name__, {})
    error = kind("what happened", **more)
    again = recalled_error(keep_error(error)["err"])
    assert type(again) is kind
    assert vars(again) == vars(error)
    assert str(again) == "what happened"


def test_what_an_error_carries_beyond_words_comes_back() -> None:
    limited = recalled_error(keep_error(RateLimited("wait", retry_after_s=7.5))["err"])
    assert isinstance(limited, RateLimited)
    assert (limited.retry_after_s, limited.retryable, limited.status) == (7.5, True, 429)
    setup = recalled_error(keep_error(SetupFailed("no", log="the log", requested=("one",)))["err"])
    assert isinstance(setup, SetupFailed)
    assert (setup.log, setup.requested) == ("the log", ("one",))


def test_a_foreign_error_keeps_its_class_name_only() -> None:
    kept = keep_error(RuntimeError("ghs_secret"))
    assert "ghs_secret" not in str(kept)
    with pytest.raises(StepFailed, match="RuntimeError"):
        recall(kept, Publication)


def test_an_unknown_error_of_an_older_version_is_still_an_error() -> None:
    assert isinstance(recalled_error({"type": "Gone", "carried": {"message": "x"}}), StepFailed)


def test_recalling_an_error_raises_it() -> None:
    with pytest.raises(GitHubError, match="no answer"):
        recall(keep_error(GitHubError("no answer", status=502)), Publication)


@pytest.mark.anyio
async def test_two_steps_of_one_name_are_refused() -> None:
    checkpoint = MemoryCheckpoint()

    async def call() -> Publication:
        return Publication(mission_id="m")

    await checkpoint.step("publish", Publication, call)
    with pytest.raises(ValueError, match="publish"):
        await checkpoint.step("publish", Publication, call)
    assert checkpoint.names == {"publish"}
