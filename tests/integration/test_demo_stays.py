"""`DEMO_STAY=1 make demo`: every address that it prints can be opened, until Ctrl-C."""

import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.demo.bot_process import BotProcess
from tests.demo.stay import is_wanted, list_addresses
from tests.demo.story import Told
from tests.github_server.entities import CheckRun, Issue
from tests.github_server.fixtures import app_key, local_github
from tests.github_server.server import LocalGitHub
from tests.patience import HANG_S

__all__ = ["app_key", "local_github"]

ROOT = Path(__file__).resolve().parents[2]


def told(name: str, pull_request: Issue | None) -> Told:
    """The end of a mission of which only the pull request matters here."""
    check = CheckRun(1, 1, 1, 1, "MetaAgent", "a" * 40, "2026-01-01T00:00:00Z")
    return Told(name, "a" * 40, check, pull_request, 1.0, None, None)


@pytest.mark.parametrize(
    ("value", "wanted"), [(None, False), ("", False), ("0", False), ("1", True)]
)
def test_only_who_asks_is_kept_waiting(value: str | None, *, wanted: bool) -> None:
    assert is_wanted({} if value is None else {"DEMO_STAY": value}) is wanted


@pytest.mark.shared
@pytest.mark.slow
def test_every_printed_address_can_be_opened(local_github: LocalGitHub, tmp_path: Path) -> None:
    local_github.create_repository("acme", "shop", {"a.py": "x = 1\n"})
    local_github.push("acme/shop", "fix", {"a.py": "x = 2\n"})
    pull = local_github.open_pull_request("acme/shop", "fix", title="Fix <b>", body="<script>")
    with BotProcess(local_github, tmp_path / "data") as bot:
        lines = list_addresses(bot, [told("shop", pull), told("courier", None)])
        dashboard, token, page = (line.split()[-1] for line in lines)
        assert [line.split("  ")[0] for line in lines] == [
            "dashboard",
            "its token",
            "pull request",
        ]
        with httpx.Client(follow_redirects=True) as client:
            origin = {"origin": bot.url}
            assert "Sign in" in client.get(dashboard).text
            signed_in = client.post(f"{dashboard}/sign-in", data={"token": token}, headers=origin)
            assert signed_in.status_code == 200
            assert "Missions" in signed_in.text
            shown = client.get(page)
    assert shown.status_code == 200
    assert "Fix &lt;b&gt; #1" in shown.text
    assert "<script>" not in shown.text
    assert "default-src 'none'" in shown.headers["content-security-policy"]
    assert httpx.get(f"{local_github.web_url}/acme/shop/pull/2").status_code == 404


def test_it_waits_for_ctrl_c_and_ends_in_order() -> None:
    # A shell starts what it puts in the background with Ctrl-C ignored, and children inherit it.
    heard = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    waits = "from tests.demo.stay import wait_for_interrupt; wait_for_interrupt(); print('closed')"
    with subprocess.Popen(
        [sys.executable, "-c", f"{heard}; {waits}"], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as demo:
        assert demo.stdout is not None
        assert "until you press Ctrl-C" in demo.stdout.readline()
        demo.send_signal(signal.SIGINT)
        rest, _ = demo.communicate(timeout=HANG_S)
    assert demo.returncode == 0
    assert rest.endswith("closed\n")
