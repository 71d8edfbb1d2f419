"""Clean-up runs in the background: once at the start, and after each environment that was added."""

import asyncio
import logging

import pytest
from typing_extensions import override

from sandbox.backends.base import CacheUsage
from sandbox.errors import SandboxUnavailable
from sandbox.housekeeping import Housekeeping
from tests.fakes.scripted_backend import ScriptedBackend


class Broken(ScriptedBackend):
    """A backend that cannot clean up."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error

    @override
    async def prune(self, *, only_count: bool = False) -> CacheUsage:
        raise self.error


@pytest.mark.anyio
async def test_it_cleans_up_at_the_start_and_after_what_was_added() -> None:
    backend = ScriptedBackend()
    housekeeping = Housekeeping(backend)
    housekeeping.begin(added=False)
    await housekeeping.end()
    housekeeping.begin(added=False)
    await housekeeping.end()
    assert backend.pruned == 1
    housekeeping.begin(added=True)
    await housekeeping.end()
    assert backend.pruned == 2


@pytest.mark.parametrize(
    "error", [SandboxUnavailable("the daemon went away"), FileNotFoundError("somebody was first")]
)
@pytest.mark.anyio
async def test_what_cannot_be_cleaned_up_troubles_nobody(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    housekeeping = Housekeeping(Broken(error))
    with caplog.at_level(logging.INFO):
        housekeeping.begin(added=True)
        await housekeeping.end()
    assert f"environment cleanup failed: {error}" in caplog.text
    await Housekeeping(Broken(error)).end()


def test_another_loop_begins_anew() -> None:
    backend = ScriptedBackend()
    housekeeping = Housekeeping(backend)

    async def once() -> None:
        housekeeping.begin(added=True)
        await asyncio.sleep(0)
        await housekeeping.end()

    asyncio.run(once())
    asyncio.run(once())
    assert backend.pruned == 2
