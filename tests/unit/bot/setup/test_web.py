"""The pages of set-up: who comes in, from where, and what is stored at the end."""

import html
import json
import re
from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from bot.errors import GitHubError, SettingsError
from bot.github.manifest import NewApp
from bot.settings import Settings, load
from bot.setup.door import Door
from bot.setup.run import create_setup_app
from bot.setup.web import SetUp, setup_router
from tests.fakes.fixed_clock import FixedClock
from tests.unit.bot.setup.test_stored import APP

pytestmark = pytest.mark.anyio
Make = Callable[..., Settings]
HOME = "http://localhost:8080"
FIELDS = {
    "name": "Fixer",
    "organization": "",
    "address": "https://bot.example.com",
    "reruns": "yes",
}


class Person:
    """A browser at the pages, without its engine."""

    def __init__(
        self, settings: Settings, home: str = HOME, fails: Exception | None = None
    ) -> None:
        from fastapi import FastAPI

        self.settings, self.home, self.fails = settings, home, fails
        self.door = Door(FixedClock())
        self.codes: list[str] = []
        self.done: list[NewApp] = []
        app = FastAPI()
        app.include_router(
            setup_router(SetUp(settings, self.door, self.exchange, self.done.append))
        )
        self._app = app
        self.http = self.another()

    def another(self, home: str | None = None) -> httpx.AsyncClient:
        """Another browser."""
        return httpx.AsyncClient(
            transport=httpx.ASGITransport(self._app), base_url=home or self.home
        )

    async def exchange(self, code: str) -> tuple[NewApp, str]:
        self.codes.append(code)
        if self.fails is not None:
            raise self.fails
        return APP, "hush"

    async def post(
        self, path: str, fields: dict[str, str], origin: str | None = None
    ) -> httpx.Response:
        return await self.http.post(path, data=fields, headers={"origin": origin or self.home})

    async def enter(self) -> httpx.Response:
        return await self.post("/setup/enter", {"code": self.door.code})

    async def asked(self, **more: str) -> tuple[str, dict[str, object]]:
        """Where the browser is sent with which manifest."""
        answer = await self.post("/setup/manifest", {**FIELDS, **more})
        assert answer.status_code == 200, answer.text
        action = re.search(r'action="([^"]+)"', answer.text)
        content = re.search(r'name="manifest" value="([^"]+)"', answer.text)
        assert action is not None
        assert content is not None
        return html.unescape(action[1]), json.loads(html.unescape(content[1]))


@pytest.fixture
def person(settings: Make) -> Person:
    return Person(settings())


def state_in(action: str) -> str:
    return parse_qs(urlsplit(action).query)["state"][0]


async def test_from_the_code_to_the_stored_app(person: Person) -> None:
    assert 'name="code"' in (await person.http.get("/setup")).text
    entered = await person.enter()
    assert (entered.status_code, entered.headers["location"]) == (303, "/setup")
    cookie = entered.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    assert 'name="organization"' in (await person.http.get("/setup")).text
    action, content = await person.asked()
    assert action.startswith("https://github.com/settings/apps/new?state=")
    assert content["public"] is False
    assert content["redirect_url"] == f"{HOME}/setup/created"
    assert content["hook_attributes"] == {"url": "https://bot.example.com/webhook", "active": True}
    back = await person.http.get(
        "/setup/created", params={"code": "abc123", "state": state_in(action)}
    )
    assert (back.status_code, back.headers["location"]) == (
        303,
        "https://github.com/apps/fixer/installations/new",
    )
    assert (person.codes, person.done) == (["abc123"], [APP])
    stored = load({"data_dir": str(person.settings.data_dir)}, environment={})
    assert (stored.app_id, stored.app_slug) == ("5", "fixer")


async def test_afterwards_every_page_is_closed(person: Person) -> None:
    await person.enter()
    action, _ = await person.asked()
    back = {"code": "abc123", "state": state_in(action)}
    await person.http.get("/setup/created", params=back)
    again = [
        await person.http.get("/setup"),
        await person.http.get("/setup/created", params=back),
        await person.enter(),
        await person.post("/setup/manifest", FIELDS),
    ]
    assert [answer.status_code for answer in again] == [404] * 4
    assert person.codes == ["abc123"]


async def test_nothing_is_shown_or_begun_without_the_code(person: Person) -> None:
    guessed = await person.post("/setup/enter", {"code": "guess"})
    assert guessed.status_code == 403
    assert "set-cookie" not in guessed.headers
    assert (await person.post("/setup/manifest", FIELDS)).status_code == 403
    assert (await person.http.get("/setup/created?code=abc&state=x")).status_code == 403
    assert person.codes == []


async def test_a_second_browser_with_the_same_code_stays_outside(person: Person) -> None:
    await person.enter()
    async with person.another() as other:
        late = await other.post(
            "/setup/enter", data={"code": person.door.code}, headers={"origin": HOME}
        )
        assert late.status_code == 403
        assert "used" in (await other.get("/setup")).text
        assert (
            await other.post("/setup/manifest", data=FIELDS, headers={"origin": HOME})
        ).status_code == 403


async def test_a_stranger_cannot_slip_in_an_app_of_his_own(person: Person) -> None:
    await person.enter()
    action, _ = await person.asked()
    async with person.another() as other:
        assert (
            await other.get("/setup/created", params={"code": "evil", "state": state_in(action)})
        ).status_code == 403
    lured = await person.http.get(
        "/setup/created", params={"code": "evil", "state": "of-the-stranger"}
    )
    assert lured.status_code == 403
    assert person.codes == []
    assert not (person.settings.data_dir / "app.json").exists()


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://localhost:9999", "http://localhost"]
)
async def test_a_form_from_elsewhere_is_refused(person: Person, origin: str) -> None:
    assert (
        await person.post("/setup/enter", {"code": person.door.code}, origin)
    ).status_code == 403
    assert not person.door.is_used
    await person.enter()
    assert (await person.post("/setup/manifest", FIELDS, origin)).status_code == 403


async def test_a_form_that_names_no_origin_is_refused(person: Person) -> None:
    assert (
        await person.http.post("/setup/enter", data={"code": person.door.code})
    ).status_code == 403


async def test_a_form_without_an_end_is_cut_off(person: Person) -> None:
    assert (await person.post("/setup/enter", {"code": "x" * 20_000})).status_code == 413


@pytest.mark.parametrize(
    "home", ["http://bot.example.com", "http://192.168.0.7:8080", "http://evil.example:8080"]
)
async def test_over_plain_http_on_a_network_nothing_is_asked(person: Person, home: str) -> None:
    async with person.another(home) as http:
        answer = await http.get("/setup")
        assert answer.status_code == 403
        assert 'name="code"' not in answer.text
        assert "ssh -L" in answer.text
        sent = await http.post(
            "/setup/enter", data={"code": person.door.code}, headers={"origin": home}
        )
        assert sent.status_code == 403
    assert not person.door.is_used


@pytest.mark.parametrize(
    "home",
    ["http://localhost:1", "http://127.0.0.1:8080", "http://[::1]:8080", "https://a.example"],
)
async def test_where_nobody_listens_the_page_is_shown(person: Person, home: str) -> None:
    async with person.another(home) as http:
        assert (await http.get("/setup")).status_code == 200


@pytest.mark.parametrize("host", ["", "a b", "[:::::]", "[1", "x/y", "a:b:c", "localhost\x7f"])
async def test_a_malformed_host_is_no_accident(person: Person, host: str) -> None:
    answer = await person.http.get("/setup", headers={"host": host})
    assert answer.status_code in {400, 403}


async def test_behind_something_that_speaks_tls_the_public_address_counts(settings: Make) -> None:
    person = Person(settings(public_url="https://bot.example.com"), "http://bot.example.com")
    assert (await person.http.get("/setup")).status_code == 200
    entered = await person.post(
        "/setup/enter", {"code": person.door.code}, "https://bot.example.com"
    )
    assert entered.status_code == 303
    assert "Secure" in entered.headers["set-cookie"]


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("name", " ", "needs a name"),
        ("organization", "../x", "not the name of an organization"),
        ("organization", "-x", "not the name of an organization"),
        ("address", "bot.example.com", "not the address of a server"),
        ("address", "https://a/b", "not the address of a server"),
        ("address", "https://[zz]", "not the address of a server"),
        ("address", "http://localhost:8080", "GitHub cannot reach"),
        ("address", "http://127.0.0.1:8080", "GitHub cannot reach"),
    ],
)
async def test_what_cannot_be_right_is_asked_again(
    person: Person, field: str, value: str, said: str
) -> None:
    await person.enter()
    answer = await person.post("/setup/manifest", {**FIELDS, field: value})
    assert answer.status_code == 422
    assert said in answer.text


async def test_what_was_entered_is_shown_as_text_only(person: Person) -> None:
    await person.enter()
    answer = await person.post(
        "/setup/manifest", {**FIELDS, "name": '"><script>x', "organization": "<b>"}
    )
    assert "<script>x" not in answer.text
    assert "<b>" not in answer.text


async def test_an_organization_has_its_own_page_on_github(person: Person) -> None:
    await person.enter()
    action, _ = await person.asked(organization="acme")
    assert action.startswith("https://github.com/organizations/acme/settings/apps/new?state=")


async def test_rerunning_jobs_is_a_choice(person: Person) -> None:
    await person.enter()
    _, with_reruns = await person.asked()
    answer = await person.post(
        "/setup/manifest", {k: v for k, v in FIELDS.items() if k != "reruns"}
    )
    assert with_reruns["default_permissions"]["actions"] == "write"  # type: ignore[index]
    assert "&quot;actions&quot;: &quot;read&quot;" in answer.text


async def test_dashboard_issues_are_a_choice_too(person: Person) -> None:
    await person.enter()
    answer = await person.post("/setup/manifest", FIELDS)
    assert "&quot;issues&quot;: &quot;read&quot;" in answer.text
    answer = await person.post("/setup/manifest", {**FIELDS, "dashboards": "yes"})
    assert "&quot;issues&quot;: &quot;write&quot;" in answer.text
    assert "push, issues." in answer.text


@pytest.mark.parametrize("error", [GitHubError("no such code"), SettingsError("no key")])
async def test_a_refusal_of_github_is_told_and_can_be_begun_again(
    settings: Make, error: Exception
) -> None:
    person = Person(settings(), fails=error)
    await person.enter()
    action, _ = await person.asked()
    answer = await person.http.get(
        "/setup/created", params={"code": "abc", "state": state_in(action)}
    )
    assert answer.status_code == 502
    assert str(error) in answer.text
    assert (await person.http.get("/setup")).status_code == 200
    assert person.done == []


async def test_an_app_that_cannot_be_stored_is_told_with_what_to_delete(person: Person) -> None:
    await person.enter()
    action, _ = await person.asked()
    (person.settings.data_dir / "app.json").write_text("somebody was faster")
    answer = await person.http.get(
        "/setup/created", params={"code": "abc", "state": state_in(action)}
    )
    assert answer.status_code == 500
    assert "https://github.com/apps/fixer" in answer.text
    assert person.done == []


async def test_every_answer_is_sealed(person: Person) -> None:
    await person.enter()
    for answer in (await person.http.get("/setup"), await person.http.get("/setup/created")):
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert "form-action 'self' https://github.com" in answer.headers["content-security-policy"]
        assert answer.headers["x-frame-options"] == "DENY"
        assert answer.headers["cache-control"] == "no-store"


async def test_while_nothing_is_set_up_nothing_takes_work(settings: Make) -> None:
    app = create_setup_app(settings(), Door(FixedClock()), lambda _: None)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=HOME) as http:
        assert (await http.get("/healthz")).status_code == 200, "a restart would change nothing"
        ready = await http.get("/readyz")
        assert (ready.status_code, "/setup" in ready.json()["missing"][0]) == (503, True)
        assert (await http.post("/webhook")).status_code == 404
        assert (await http.get("/")).headers["location"] == "/setup"
