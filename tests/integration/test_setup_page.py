"""From `metaagent serve` on a bare machine to a working App: a real browser, a local GitHub, and nobody else."""

import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from bot.settings import load
from tests.browser import browser, inaccessible
from tests.github_server.fixtures import app_key, local_github
from tests.github_server.server import LocalGitHub

__all__ = ["app_key", "browser", "local_github"]

pytestmark = [pytest.mark.shared, pytest.mark.slow]
WITHIN_S = 300.0
ROOT = Path(__file__).parents[2]


class Console:
    """What a program says, and the program."""

    def __init__(self, process: "subprocess.Popen[bytes]", log: Path) -> None:
        self._process, self._log = process, log

    @property
    def text(self) -> str:
        return self._log.read_text(errors="replace")

    def waits_for(self, pattern: str) -> "re.Match[str]":
        """What the console says at last."""
        end = time.monotonic() + WITHIN_S
        while time.monotonic() < end:
            if found := re.search(pattern, self.text):
                return found
            assert self._process.poll() is None, self.text
            time.sleep(0.05)
        raise TimeoutError(f"{pattern} was not said:\n{self.text[-2000:]}")


@contextmanager
def started(github: LocalGitHub, folder: Path) -> Iterator[Console]:
    """`metaagent serve` on a machine where nothing is set up."""
    folder.mkdir()
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("METAAGENT_")
    } | {
        "METAAGENT_GITHUB_API_URL": github.api_url,
        "METAAGENT_DATA_DIR": str(folder / "data"),
        "METAAGENT_SANDBOX__BACKEND": "local",
        "METAAGENT_PORT": str(_free_port()),
    }
    log = folder / "console"
    words = [sys.executable, "-m", "bot", "serve"]
    with log.open("wb") as out:
        process = subprocess.Popen(words, env=environment, stdout=out, stderr=out, cwd=ROOT)
    try:
        yield Console(process, log)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        process.wait(20)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def healthy(address: str) -> bool:
    """Whether the service works within a while."""
    end = time.monotonic() + WITHIN_S
    while time.monotonic() < end:
        try:
            if httpx.get(f"{address}/readyz", trust_env=False).status_code == 200:
                return True
        except httpx.HTTPError:
            pass
        time.sleep(0.1)
    return False


def test_a_person_with_a_browser_sets_a_service_up_and_nobody_else_can(
    local_github: LocalGitHub, tmp_path: Path, browser: Any
) -> None:
    local_github.create_repository(
        "octo", "shop", {".github/workflows/ci.yml": "on: {push: {branches: [main]}}\n"}
    )
    with started(local_github, tmp_path / "serve") as console:
        link = console.waits_for(r"(http://localhost:\d+)/setup#(\S+)")
        home, code = link[1], link[2]
        person, stranger = browser.new_context().new_page(), browser.new_context().new_page()
        person.goto(link[0])
        assert person.input_value("#code") == code, "the code behind the # is filled in"
        assert code not in person.url, "and is gone from the address"
        stranger.goto(f"{home}/setup")
        stranger.fill("#code", "a guess")
        stranger.click("button")
        assert "wrong or was used already" in stranger.text_content("p.wrong")
        assert inaccessible(stranger) == []
        person.click("button")
        person.fill("#name", "Shop Fixer")
        assert person.input_value("#address") == home
        person.click("button")
        assert "pull requests" in person.text_content("table")
        assert inaccessible(person) == []
        stranger.goto(f"{home}/setup#{code}")
        stranger.click("button")
        assert "used already" in stranger.text_content("p.wrong")
        stranger.goto(f"{home}/setup/created?code=evil&state=evil")
        assert "not started here" in stranger.text_content("p.wrong")
        person.click("button")
        person.wait_for_url(re.compile(r"/apps/shop-fixer/installations/new$"))
        assert local_github.app_slug == "shop-fixer"
        assert healthy(home), console.text
        assert httpx.get(f"{home}/setup", trust_env=False).status_code == 404, (
            "the pages are closed"
        )
        stored = json.loads((tmp_path / "serve" / "data" / "app.json").read_text())
        assert stat.S_IMODE((tmp_path / "serve" / "data" / "app.json").stat().st_mode) == 0o600
        for secret in (
            stored["webhook_secret"],
            stored["client_secret"],
            stored["private_key"].splitlines()[1],
        ):
            assert secret not in console.text
        local_github.install("octo")
        local_github.push("octo/shop", "main", {"a.py": "x = 2\n"})
        local_github.hub.webhooks.drain()
        settings = load({"data_dir": str(tmp_path / "serve" / "data")}, environment={})
        assert (settings.app_slug, settings.github_api_url) == ("shop-fixer", local_github.api_url)
        answers = {one.event: one.status_code for one in local_github.hub.webhooks.log}
        assert {"installation", "push"} <= set(answers)
        assert set(answers.values()) == {202}
