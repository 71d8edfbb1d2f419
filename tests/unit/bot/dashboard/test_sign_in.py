"""Signing in: the operator by token, people by GitHub; a session is one browser's and ends."""

import json
import threading
from collections.abc import Iterator
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from pydantic import SecretStr
from typing_extensions import override

from bot.dashboard.access import COOKIE
from bot.dashboard.token_file import FILE, operator_token
from bot.domain.dashboard import DashboardOptions, Viewer
from bot.errors import GitHubError, SettingsError
from bot.github.sign_in import GitHubSignIn
from tests.unit.bot.dashboard.house import ACME, HOME, TOKEN, House

pytestmark = pytest.mark.anyio
PERSON = "ghu_0123456789abcdefghij"
BACK = f"{HOME}/dashboard/signed-in"


class SmallGitHub:
    """GitHub's side of the web flow: one code, one person, two installations, two pages."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str]] = []
        self.codes = {"good-code"}
        self.fails: int | None = None
        github = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                form = parse_qs(self.rfile.read(int(self.headers["content-length"])).decode())
                github.seen.append((self.path, json.dumps(form)))
                good = form.get("code", [""])[0] in github.codes
                github.codes.clear()
                right = form["client_secret"] == ["the-secret"] and form["redirect_uri"] == [BACK]
                # GitHub answers 200 in both cases.
                self.answer({"access_token": PERSON} if good and right else {"error": "bad_code"})

            def do_GET(self) -> None:
                github.seen.append((self.path, self.headers.get("authorization", "")))
                if github.fails is not None:
                    self.answer({"message": "no"}, github.fails)
                    return
                path, query = urlsplit(self.path).path, parse_qs(urlsplit(self.path).query)
                page = int(query.get("page", ["1"])[0])
                self.answer(*github.content(path.removeprefix("/api/v3"), page))

            def answer(self, content: Any, status: int = 200, link: str = "") -> None:
                body = json.dumps(content).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                if link:
                    self.send_header("link", link)
                self.end_headers()
                self.wfile.write(body)

            @override
            def log_message(self, format: str, *args: object) -> None:
                """Quiet."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/api/v3/"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def content(self, path: str, page: int) -> tuple[Any, int, str]:
        """What a GET answers: the second repository of the first installation is on page two."""
        if path == "/user":
            return {"login": "ada"}, 200, ""
        if path == "/user/installations":
            return {"installations": [{"id": 7}, {"id": 8}]}, 200, ""
        if path == "/user/installations/7/repositories" and page == 1:
            first = {"id": ACME, "permissions": {"pull": True, "push": True}}
            link = f'<{self.url}user/installations/7/repositories?page=2>; rel="next"'
            return {"repositories": [first]}, 200, link
        if path == "/user/installations/7/repositories":
            reads = {"id": 43, "permissions": {"pull": True, "push": False}}
            return {"repositories": [reads]}, 200, ""
        if path == "/user/installations/8/repositories":
            odd = {"id": 44, "permissions": {"pull": False, "push": True}}
            return {"repositories": [odd, {"id": 45}]}, 200, ""
        return {"message": "Not Found"}, 404, ""


@pytest.fixture
def github() -> Iterator[SmallGitHub]:
    running = SmallGitHub()
    yield running
    running.server.shutdown()
    running.server.server_close()


@pytest.fixture
async def house(tmp_path: Path, github: SmallGitHub) -> House:
    client = GitHubSignIn(github.url, "the-client", SecretStr("the-secret"))
    made = House(tmp_path, sign_in=client)
    await made.furnish()
    return made


async def test_github_tells_who_a_person_is_and_what_they_can_read_and_write(
    github: SmallGitHub,
) -> None:
    client = GitHubSignIn(github.url, "the-client", SecretStr("the-secret"))
    viewer = await client.viewer("good-code", BACK)
    assert viewer == Viewer(login="ada", readable=frozenset({ACME, 43}), writable=frozenset({ACME}))
    asked = [authorization for path, authorization in github.seen if path.startswith("/api")]
    assert set(asked) == {f"Bearer {PERSON}"}
    with pytest.raises(GitHubError, match="did not accept"):
        await client.viewer("good-code", BACK)  # a code works once


@pytest.mark.parametrize("status", [401, 403, 500])
async def test_a_github_that_fails_admits_nobody(github: SmallGitHub, status: int) -> None:
    github.fails = status
    client = GitHubSignIn(github.url, "the-client", SecretStr("the-secret"))
    with pytest.raises(GitHubError):
        await client.viewer("good-code", BACK)


async def sign_in(http: httpx.AsyncClient, code: str = "good-code") -> httpx.Response:
    """Go to GitHub and come back, as a browser does."""
    there = await http.get("/dashboard/sign-in/github")
    assert there.status_code == 303
    asked = parse_qs(urlsplit(there.headers["location"]).query)
    assert asked["client_id"] == ["the-client"]
    assert asked["redirect_uri"] == [BACK]
    state = {"metaagent_state": there.cookies["metaagent_state"]}
    query = {"code": code, "state": asked["state"][0]}
    cookie = "; ".join(f"{name}={value}" for name, value in state.items())
    return await http.get("/dashboard/signed-in", params=query, headers={"cookie": cookie})


async def test_a_person_signs_in_with_github_and_sees_their_repositories(
    house: House, github: SmallGitHub
) -> None:
    http = house.browser()
    back = await sign_in(http)
    assert (back.status_code, back.headers["location"]) == (303, "/dashboard")
    secret = back.cookies.get(COOKIE, path="/dashboard") or ""
    shown = await http.get("/dashboard/repositories", headers={"cookie": f"{COOKIE}={secret}"})
    assert "acme/shop" in shown.text
    assert "rival" not in shown.text
    stored = (house.folder / "data" / "metaagent.sqlite").read_bytes()
    assert PERSON.encode() not in stored, "the person's token is not kept"
    assert secret.encode() not in stored, "nor is the secret of the session"
    newest, *_ = await house.audit.entries()
    assert (newest.actor, newest.result) == ("ada", "signed in")


async def test_a_sign_in_that_another_browser_began_is_refused(
    house: House, github: SmallGitHub
) -> None:
    attacker, victim = house.browser(), house.browser()
    there = await attacker.get("/dashboard/sign-in/github")
    state = parse_qs(urlsplit(there.headers["location"]).query)["state"][0]
    query = {"code": "good-code", "state": state}
    for cookie in ("", "metaagent_state=", "metaagent_state=other"):
        reply = await victim.get("/dashboard/signed-in", params=query, headers={"cookie": cookie})
        assert reply.status_code == 403
        assert COOKIE not in reply.cookies
    assert github.seen == [], "GitHub was not even asked"


async def test_a_code_that_github_refuses_admits_nobody(house: House) -> None:
    reply = await sign_in(house.browser(), code="made-up")
    assert (reply.status_code, COOKIE in reply.cookies) == (502, False)


async def test_the_operator_signs_in_by_the_token_alone(house: House) -> None:
    http = house.browser()
    for wrong in ("", "guess", TOKEN[:-1], f"{TOKEN}x", "\u00e9"):
        reply = await house.post(http, "/dashboard/sign-in", token=wrong)
        assert (reply.status_code, COOKIE in reply.cookies) == (403, False)
    reply = await house.post(http, "/dashboard/sign-in", "https://evil.example", token=TOKEN)
    assert reply.status_code == 403
    reply = await house.post(http, "/dashboard/sign-in", token=TOKEN)
    assert reply.status_code == 303
    cookies = reply.headers.get_list("set-cookie")
    for cookie, path in zip(cookies, ("/dashboard", "/api"), strict=True):
        assert {"HttpOnly", f"Path={path}", "SameSite=lax"} <= set(cookie.split("; "))
        assert "Secure" not in cookie
    results = [one.result for one in await house.audit.entries()]
    assert results == ["signed in"], "strangers cannot fill the log"


async def test_a_session_ends_with_its_time_and_with_signing_out(house: House) -> None:
    viewer = Viewer(login="ada", readable=frozenset({ACME}))
    first, second = [await house.parts.sessions.start(viewer) for _ in range(2)]
    http = house.browser()
    http.headers["cookie"] = f"{COOKIE}={first}"
    assert (await http.get("/dashboard")).status_code == 200
    assert (await house.post(http, "/dashboard/sign-out")).status_code == 303
    assert (await http.get("/dashboard")).status_code == 303
    assert await house.parts.sessions.find(second) is not None
    house.clock.advance(timedelta(hours=8).total_seconds())
    assert await house.parts.sessions.find(second) is None


@pytest.mark.parametrize(
    ("home", "status"),
    [
        ("http://bot.example.com", 403),
        ("http://192.168.1.5:8080", 403),
        ("http://localhost.evil.example", 403),
        ("http://127.0.0.1:8080", 200),
        ("http://[::1]:8080", 200),
        ("https://bot.example.com", 200),
    ],
)
async def test_nothing_is_shown_where_others_could_listen(
    house: House, home: str, status: int
) -> None:
    reply = await house.browser(home).get("/dashboard/sign-in")
    assert reply.status_code == status
    assert ('name="token"' in reply.text) == (status == 200)


async def test_over_https_the_cookie_stays_there(house: House) -> None:
    http = house.browser("https://bot.example.com")
    reply = await house.post(http, "/dashboard/sign-in", "https://bot.example.com", token=TOKEN)
    assert "Secure" in reply.headers["set-cookie"]


async def test_without_a_client_of_github_that_way_does_not_exist(tmp_path: Path) -> None:
    http = House(tmp_path).browser()
    assert "Sign in with GitHub" not in (await http.get("/dashboard/sign-in")).text
    for path in ("sign-in/github", "signed-in?code=x&state=y"):
        assert (await http.get(f"/dashboard/{path}")).status_code == 404


def test_the_token_is_made_once_in_a_file_that_only_we_can_read(tmp_path: Path) -> None:
    options = DashboardOptions()
    assert operator_token(options, tmp_path, create=False) is None
    first = operator_token(options, tmp_path / "data", create=True)
    again = operator_token(options, tmp_path / "data", create=True)
    assert first is not None
    assert first == again
    assert len(first.get_secret_value()) >= 40
    assert (tmp_path / "data" / FILE).stat().st_mode & 0o777 == 0o600
    set_by_hand = DashboardOptions(token=SecretStr("mine"))
    assert operator_token(set_by_hand, tmp_path / "data", create=True) == SecretStr("mine")
    assert operator_token(DashboardOptions(token=SecretStr("")), tmp_path, create=True) is None
    (tmp_path / "broken" / FILE).mkdir(parents=True)
    with pytest.raises(SettingsError, match="cannot be used"):
        operator_token(options, tmp_path / "broken", create=True)
