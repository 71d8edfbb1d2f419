"""Clean-up runs in the background: once at the start, and after each environment that was added."""

import asyncio

import pytest
from typing_extensions import override

from sandbox.backends.base import Kept
from sandbox.errors import SandboxUnavailable
from sandbox.housekeeping import Housekeeping
from tests.fakes.scripted_backend import ScriptedBackend


class Broken(ScriptedBackend):
    """A backend whose daemon went away."""

    @override
    async def prune(self, *, only_count: bool = False) -> Kept:
        raise SandboxUnavailable("gone")


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


@pytest.mark.anyio
async def test_a_daemon_that_is_gone_troubles_nobody() -> None:
    housekeeping = Housekeeping(Broken())
    housekeeping.begin(added=True)
    await housekeeping.end()
    await Housekeeping(Broken()).end()


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
