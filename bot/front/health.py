"""Probes of a process: is it alive (`/healthz`), and can it take work (`/readyz`)?"""

import asyncio
from collections.abc import Awaitable, Callable

from fastapi import APIRouter
from fastapi.responses import JSONResponse

from bot import __version__
from bot.errors import StoreError
from bot.front.shared_query import SharedQuery

ANSWER_S = 2.0
"""Timeout after which the database counts as unavailable, in seconds."""


def health_router(
    is_alive: Callable[[], bool], missing: Callable[[], Awaitable[tuple[str, ...]]]
) -> APIRouter:
    """Return the routes for probes.

    Args:
        is_alive: Returns False if the process should be restarted.
        missing: Returns what the process still needs to take work.
    """
    router = APIRouter()

    @router.get("/healthz")
    async def healthz() -> JSONResponse:
        """Answer the liveness probe: restart the process when it fails."""
        alive = is_alive()
        return _answer("ok" if alive else "stopped", ok=alive)

    @router.get("/readyz")
    async def readyz() -> JSONResponse:
        """Answer the readiness probe: send no work while it fails."""
        lacking = await missing()
        return _answer("not ready" if lacking else "ready", ok=not lacking, missing=list(lacking))

    return router


def _answer(status: str, *, ok: bool, **more: object) -> JSONResponse:
    return JSONResponse({"status": status, "version": __version__, **more}, 200 if ok else 503)


class DatabaseProbe:
    """Checks that the database answers; concurrent probes share one query.

    Args:
        ask: A short transaction.
        within_s: Timeout, in seconds.
    """

    def __init__(self, ask: Callable[[], Awaitable[object]], within_s: float = ANSWER_S) -> None:
        self._ask = ask
        self._within_s = within_s
        self._query = SharedQuery(self._succeeds)

    async def answers(self) -> bool:
        """Return True if the database can be used."""
        asking = self._query.start()
        done, _ = await asyncio.wait({asking}, timeout=self._within_s)
        return bool(done) and asking.result()

    async def _succeeds(self) -> bool:
        try:
            await self._ask()
        except StoreError:
            return False
        return True
