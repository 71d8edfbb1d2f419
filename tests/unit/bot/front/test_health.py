"""Liveness and readiness: two answers, and one question to the database at a time."""

import asyncio

import httpx
import pytest
from fastapi import FastAPI

from bot import __version__
from bot.errors import StoreError
from bot.front.health import DatabaseProbe, health_router

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("alive", [True, False], ids=["alive", "stopped"])
@pytest.mark.parametrize("missing", [(), ("an App",), ("an App", "a database")], ids=len)
async def test_alive_and_ready_are_two_things(alive: bool, missing: tuple[str, ...]) -> None:  # noqa: FBT001
    async def lacking() -> tuple[str, ...]:
        return missing

    app = FastAPI()
    app.include_router(health_router(lambda: alive, lacking))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://bot") as http:
        lives, ready = await http.get("/healthz"), await http.get("/readyz")
    assert (lives.status_code, lives.json()["version"]) == (200 if alive else 503, __version__)
    assert (ready.status_code, ready.json()["missing"]) == (503 if missing else 200, list(missing))


async def test_a_database_that_fails_or_hangs_does_not_answer() -> None:
    async def fails() -> None:
        raise StoreError("gone")

    async def works() -> None:
        return None

    asked = []
    release = asyncio.Event()

    async def hangs() -> None:
        asked.append(1)
        await release.wait()

    assert await DatabaseProbe(works).answers()
    assert not await DatabaseProbe(fails).answers()
    probe = DatabaseProbe(hangs, within_s=0.01)
    assert not any([await probe.answers() for _ in range(5)])
    assert len(asked) == 1, "one question at a time"
    release.set()
    assert await DatabaseProbe(works).answers()
