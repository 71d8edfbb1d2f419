"""Badges: two numbers of listed repositories, and no sign of any other."""

from xml.etree import ElementTree as ET

import httpx
import pytest
from fastapi import FastAPI

from bot.domain.dashboard import DashboardOptions
from bot.errors import StoreError
from bot.front.badge import CACHE_S, badge_router, draw_badge
from tests.fakes.fixed_clock import FixedClock

pytestmark = pytest.mark.anyio
NAME = "octo/calculator"


class Counts:
    """Counts of repositories, and what was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.counts = (2, 17)
        self.away = False

    async def read(self, name: str) -> tuple[int, int]:
        self.asked.append(name)
        if self.away:
            raise StoreError("the disk is gone")
        return self.counts


@pytest.fixture
def counts() -> Counts:
    return Counts()


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture
def app(counts: Counts, clock: FixedClock) -> FastAPI:
    app = FastAPI()
    app.include_router(badge_router((NAME, "octo/other"), counts.read, clock.monotonic))
    return app


async def get(app: FastAPI, path: str) -> httpx.Response:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://bot") as http:
        return await http.get(path)


def texts(image: str) -> list[str]:
    """Every text in an image."""
    root = ET.fromstring(image)  # noqa: S314 -- our own image
    return [element.text for element in root.iter() if element.text]


async def test_a_listed_repository_has_a_badge_that_can_be_kept(app: FastAPI) -> None:
    reply = await get(app, f"/badge/{NAME}.svg")
    assert reply.status_code == 200
    assert reply.headers["content-type"].startswith("image/svg+xml")
    assert reply.headers["cache-control"] == f"public, max-age={CACHE_S}"
    assert texts(reply.text) == ["MetaAgent: 2 open, 17 fixed", "MetaAgent", "2 open, 17 fixed"]
    assert (await get(app, "/badge/Octo/Calculator.svg")).text == reply.text


@pytest.mark.parametrize(
    "path",
    ["octo/secret", "octo/calculator/x", "octo", "%2e%2e/calculator", "octo/%3Cscript%3E", "/"],
)
async def test_of_others_no_answer_tells_whether_they_exist(
    app: FastAPI, counts: Counts, path: str
) -> None:
    reply = await get(app, f"/badge/{path}.svg")
    assert reply.status_code == 404
    assert "octo" not in reply.text
    assert "script" not in reply.text
    assert counts.asked == []


async def test_many_requests_ask_the_database_once_in_a_while(
    app: FastAPI, counts: Counts, clock: FixedClock
) -> None:
    for _ in range(5):
        await get(app, f"/badge/{NAME}.svg")
    assert counts.asked == [NAME]
    counts.counts = (0, 18)
    clock.advance(CACHE_S)
    assert "0 open, 18 fixed" in (await get(app, f"/badge/{NAME}.svg")).text
    assert counts.asked == [NAME, NAME]


async def test_a_database_that_is_away_is_not_remembered(app: FastAPI, counts: Counts) -> None:
    counts.away = True
    reply = await get(app, f"/badge/{NAME}.svg")
    assert (reply.status_code, "cache-control" in reply.headers) == (503, False)
    assert "disk" not in reply.text
    counts.away = False
    assert (await get(app, f"/badge/{NAME}.svg")).status_code == 200


def test_text_cannot_become_markup() -> None:
    hostile = '"><script>alert(1)</script>&'
    image = draw_badge(hostile, hostile)
    assert "<script" not in image
    root = ET.fromstring(image)  # noqa: S314 -- our own image
    assert root.get("aria-label") == f"{hostile}: {hostile}"


def test_no_badge_is_public_by_default() -> None:
    assert DashboardOptions().badges == ()
    listed = DashboardOptions.model_validate({"badges": f"{NAME}, octo/other"})
    assert listed.badges == (NAME, "octo/other")
    with pytest.raises(ValueError, match="badges"):
        DashboardOptions.model_validate({"badges": "octo"})
