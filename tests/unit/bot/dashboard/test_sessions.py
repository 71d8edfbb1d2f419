"""What a cookie costs: at most one query for each request, and none for what is no secret of ours."""

from dataclasses import replace
from pathlib import Path

import pytest
from fastapi import FastAPI
from typing_extensions import override

from bot.dashboard.access import COOKIE
from bot.dashboard.sessions import Session, Sessions
from bot.dashboard.web import dashboard_router
from tests.unit.bot.dashboard.house import ENDED, HOME, House

pytestmark = pytest.mark.anyio
GETS = (
    "",
    "/missions",
    f"/missions/{ENDED}",
    "/repositories",
    "/lessons",
    "/scoreboard",
    "/queue",
    "/sign-in",
)


class CountingSessions(Sessions):
    """Sessions that count how often they are asked."""

    asked = 0

    @override
    async def find(self, secret: str | None) -> Session | None:
        self.asked += 1
        return await super().find(secret)


@pytest.fixture
async def counted(tmp_path: Path) -> tuple[House, CountingSessions]:
    house = House(tmp_path)
    sessions = CountingSessions(house.database, house.clock, hours=8)
    house.parts = replace(house.parts, sessions=sessions)
    house.app = FastAPI()
    house.app.include_router(dashboard_router(house.parts))
    return house, sessions


async def test_a_request_looks_for_its_session_once(
    counted: tuple[House, CountingSessions],
) -> None:
    house, sessions = counted
    async with await house.browser_of("operator") as http:
        for path in GETS:
            sessions.asked = 0
            await http.get(f"/dashboard{path}")
            assert sessions.asked == 1, path
        token = await house.form_token(http)
        sessions.asked = 0
        form = {"form_token": token}
        await http.post("/dashboard/sign-out", data=form, headers={"origin": HOME})
        assert sessions.asked == 1


@pytest.mark.parametrize(
    "cookie", ["", "x", "x" * 42, "x" * 44, "x" * 42 + "!", "é" * 43, "0" * 9_000]
)
async def test_what_is_no_secret_of_ours_costs_no_query(tmp_path: Path, cookie: str) -> None:
    house = House(tmp_path)
    assert await house.parts.sessions.find(cookie) is None
    assert not (tmp_path / "data").exists(), "the first query would open the database"
    assert await house.parts.sessions.find("x" * 43) is None
    assert (tmp_path / "data").exists()


async def test_a_secret_of_ours_is_found(tmp_path: Path) -> None:
    house = House(tmp_path)
    async with await house.browser_of("reader") as http:
        secret = http.headers["cookie"].partition("=")[2]
        assert http.headers["cookie"].startswith(COOKIE)
        assert await house.parts.sessions.find(secret) is not None
        assert await house.parts.sessions.find(secret[:-1] + "!") is None
