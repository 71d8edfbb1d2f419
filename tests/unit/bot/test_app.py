"""The service as a web application: health, routes, and what it refuses to start without."""

from collections.abc import Callable

import httpx
import pytest
from fastapi import FastAPI

from bot import __version__
from bot.app import create_app
from bot.domain.dashboard import DashboardOptions
from bot.errors import SettingsError
from bot.settings import Settings
from tests.github_server.server import new_private_key
from tests.unit.bot.intake import payloads

pytestmark = pytest.mark.anyio
Make = Callable[..., Settings]


@pytest.fixture(scope="module")
def key() -> str:
    return new_private_key()


@pytest.fixture
def complete(settings: Make, key: str) -> Settings:
    """Everything a service needs."""
    return settings(
        app_id=str(payloads.APP_ID),
        private_key=key,
        webhook_secret=payloads.SECRET,
        github_api_url="http://127.0.0.1:9/",
    )


def client(app: FastAPI) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://bot")


async def test_healthz_is_not_well_while_nothing_is_handed_on(complete: Settings) -> None:
    async with client(create_app(complete)) as http:
        answer = await http.get("/healthz")
    assert (answer.status_code, answer.json()) == (
        503,
        {"status": "stopped", "version": __version__},
    )


async def test_readyz_says_what_is_missing(complete: Settings) -> None:
    app = create_app(complete)
    async with client(app) as http:
        before = await http.get("/readyz")
        async with app.router.lifespan_context(app):
            ready, alive = await http.get("/readyz"), await http.get("/healthz")
    assert before.status_code == 503
    assert any("not handed on" in text for text in before.json()["missing"])
    assert (ready.status_code, ready.json()["missing"], alive.status_code) == (200, [], 200)


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/", 404),
        ("GET", "/docs", 404),
        ("GET", "/redoc", 404),
        ("GET", "/openapi.json", 404),
        ("GET", "/webhook", 405),
        ("POST", "/x", 404),
    ],
)
async def test_nothing_else_is_offered(
    complete: Settings, method: str, path: str, status: int
) -> None:
    async with client(create_app(complete)) as http:
        assert (await http.request(method, path)).status_code == status


async def test_programs_are_served_if_pages_are(complete: Settings) -> None:
    app = create_app(complete)
    async with app.router.lifespan_context(app), client(app) as http:
        described = await http.get("/api/openapi.json")
        assert "/missions/{mission_id}" in described.json()["paths"]
        assert (await http.get("http://localhost/api/missions")).status_code == 401
        token = (complete.data_dir / "dashboard.token").read_text().strip()
        headers = {"authorization": f"Bearer {token}"}
        found = await http.get("http://localhost/api/missions", headers=headers)
        assert (found.status_code, found.json()) == (200, {"missions": [], "next": None})
    without = complete.model_copy(update={"dashboard": DashboardOptions(enabled=False)})
    async with client(create_app(without)) as http:
        assert (await http.get("/api/openapi.json")).status_code == 404


async def test_badges_are_served_if_the_operator_lists_repositories(complete: Settings) -> None:
    path = "/badge/octo/calculator.svg"
    app = create_app(complete)
    async with app.router.lifespan_context(app), client(app) as http:
        assert (await http.get(path)).status_code == 404
    badges = DashboardOptions(badges=("octo/calculator",), enabled=False)
    app = create_app(complete.model_copy(update={"dashboard": badges}))
    async with app.router.lifespan_context(app), client(app) as http:
        assert "0 open, 0 fixed" in (await http.get(path)).text
        assert (await http.get("/badge/octo/other.svg")).status_code == 404


@pytest.mark.parametrize("secret", [None, ""])
def test_without_a_secret_there_is_no_application(
    settings: Make, key: str, secret: str | None
) -> None:
    given = {"app_id": "1", "private_key": key} | (
        {} if secret is None else {"webhook_secret": secret}
    )
    with pytest.raises(SettingsError, match="no webhook secret"):
        create_app(settings(**given))


@pytest.mark.parametrize(
    ("missing", "message"), [("app_id", "no App id"), ("private_key", "no private key")]
)
def test_without_an_app_there_is_no_application(
    settings: Make, key: str, missing: str, message: str
) -> None:
    given = {"app_id": "1", "private_key": key, "webhook_secret": payloads.SECRET}
    del given[missing]
    with pytest.raises(SettingsError, match=message):
        create_app(settings(**given))


async def test_while_it_runs_deliveries_are_written_down_and_answered(complete: Settings) -> None:
    app = create_app(complete)
    body = payloads.encoded({"zen": "Keep it logically awesome."})
    async with app.router.lifespan_context(app), client(app) as http:
        first = await http.post("/webhook", content=body, headers=payloads.signed(body, "ping"))
        slow = first.status_code == 503  # the answer may not wait for a busy disk
        while first.status_code == 503:
            first = await http.post("/webhook", content=body, headers=payloads.signed(body, "ping"))
        again = await http.post("/webhook", content=body, headers=payloads.signed(body, "ping"))
        wrong = await http.post(
            "/webhook", content=body + b" ", headers=payloads.signed(body, "ping")
        )
    known = "duplicate" if slow else "ignored"
    assert (first.status_code, first.json()["result"]) == (202, known)
    assert (again.status_code, again.json()["result"]) == (202, "duplicate")
    assert wrong.status_code == 401
    assert (complete.data_dir / "metaagent.sqlite").is_file()


async def test_a_body_larger_than_the_setting_is_refused(complete: Settings) -> None:
    body = payloads.encoded({"zen": "x" * 2000})
    async with client(create_app(complete.model_copy(update={"webhook_max_bytes": 1000}))) as http:
        answer = await http.post("/webhook", content=body, headers=payloads.signed(body, "ping"))
    assert answer.status_code == 413
