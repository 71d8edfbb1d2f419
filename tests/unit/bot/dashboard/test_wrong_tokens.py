"""Wrong tokens: one line at once, then one with the number of the others."""

import asyncio
import logging
from pathlib import Path

import pytest

from bot.dashboard.wrong_tokens import WrongTokens
from tests.unit.bot.dashboard.house import HOME, House

pytestmark = pytest.mark.anyio


async def lines(caplog: pytest.LogCaptureFixture, number: int) -> list[str]:
    """Wait until so many lines were written."""
    async with asyncio.timeout(60):
        while len(caplog.messages) < number:  # noqa: ASYNC110 -- a timer writes them
            await asyncio.sleep(0.005)
    return caplog.messages


async def test_later_ones_are_counted_and_logged_in_one_line(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING)
    wrong = WrongTokens(tick_s=0.01)
    for _ in range(5):
        wrong.note()
    assert caplog.messages == ["dashboard: a wrong token was refused"]
    assert (await lines(caplog, 2))[1] == "dashboard: 4 more wrong tokens were refused"


async def test_after_a_quiet_tick_the_next_one_is_logged_at_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING)
    wrong = WrongTokens(tick_s=0.0)
    wrong.note()
    await asyncio.sleep(0.05)
    wrong.note()
    assert caplog.messages == ["dashboard: a wrong token was refused"] * 2


async def test_a_flood_at_the_door_writes_one_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    async with House(tmp_path).browser() as http:
        for _ in range(5):
            form = {"token": "wrong"}
            reply = await http.post("/dashboard/sign-in", data=form, headers={"origin": HOME})
            assert reply.status_code == 403
    assert caplog.messages == ["dashboard: a wrong token was refused"]
