"""Waiting for whoever sets up: when there is nothing to wait for, and what GitHub may leave out."""

import json
import socket
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from typing_extensions import override

from bot.errors import GitHubError, SettingsError
from bot.settings import Settings
from bot.setup.run import new_app, run_setup
from tests.github_server.server import new_private_key

Make = Callable[..., Settings]
WAIT_FOR_IT = "nobody is told where to go"


def silent(_: str) -> None:
    pytest.fail(WAIT_FOR_IT)


def test_an_app_that_is_set_is_not_made_again(settings: Make) -> None:
    with pytest.raises(SettingsError, match="set up already"):
        run_setup(settings(app_id="1"), silent)


def test_a_stored_app_is_not_made_again(settings: Make) -> None:
    bare = settings()
    bare.data_dir.mkdir()
    (bare.data_dir / "app.json").write_text("{}")
    with pytest.raises(SettingsError, match="holds an App already"):
        run_setup(bare, silent)


def test_a_port_that_is_taken_is_told_before_a_code_is_shown(settings: Make) -> None:
    taken = socket.create_server(("127.0.0.1", 0))
    order = settings(port=str(taken.getsockname()[1]))
    with taken, pytest.raises(SettingsError, match="cannot be used"):
        run_setup(order, silent)


class Answers(BaseHTTPRequestHandler):
    """A GitHub that makes Apps without a secret, and takes one later."""

    key = ""
    taken: list[tuple[str, str]] = []  # noqa: RUF012 -- made anew for each test

    def do_POST(self) -> None:
        app = {
            "id": 9,
            "slug": "fixer",
            "html_url": "http://h/apps/fixer",
            "webhook_secret": None,
            "pem": self.key,
        }
        self._answer(201 if "good" in self.path else 404, app)

    def do_PATCH(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.taken.append((self.path, body["secret"]))
        self._answer(200, {"url": "http://h/webhook"})

    def _answer(self, status: int, body: object) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    @override
    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def github() -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Its address, and the secrets it was given."""
    taken: list[tuple[str, str]] = []
    handler = type("Handler", (Answers,), {"taken": taken, "key": new_private_key()})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(
            target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        ).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/api/v3/", taken
        server.shutdown()


@pytest.mark.anyio
async def test_a_missing_secret_is_set(github: tuple[str, list[tuple[str, str]]]) -> None:
    url, taken = github
    app, secret = await new_app(url, "good")
    assert app.slug == "fixer"
    assert len(secret) == 64
    assert taken == [("/api/v3/app/hook/config", secret)]


@pytest.mark.anyio
async def test_a_code_that_was_used_is_told_without_naming_it(
    github: tuple[str, list[tuple[str, str]]],
) -> None:
    with pytest.raises(GitHubError, match="does not accept this code") as refused:
        await new_app(github[0], "spent-code")
    assert "spent-code" not in refused.value.message
