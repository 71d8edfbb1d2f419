"""A push to the default branch of a (local) GitHub becomes a pull request, where the policy wants missions after pushes."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.demo.bot_process import BotProcess
from tests.github_server.fixtures import app_key, local_github
from tests.github_server.server import LocalGitHub
from tests.patience import HANG_S

__all__ = ["app_key", "local_github"]

pytestmark = [pytest.mark.docker, pytest.mark.slow]
NAME = "octo/shop"
RIGHT = (
    "def total(prices):\n    return sum(prices)\n\n\ndef rest(paid, due):\n    return paid - due\n"
)
FILES = {
    "shop.py": RIGHT,
    "test_shop.py": (
        "from shop import rest, total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n\n\n"
        "def test_rest():\n    assert rest(5, 3) == 2\n    assert rest(9, 4) == 5\n"
    ),
    "requirements.txt": "pytest\n",
    ".github/metaagent.yml": "test_command: python -m pytest -q\ncontinuous: {after_merge: true}\n",
}


def until(condition: Callable[[], bool], seconds: float = 3 * HANG_S) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"waited {seconds} s"
        time.sleep(0.2)


def test_a_push_that_no_check_covers_is_tested_and_repaired(
    docker_ready: None, local_github: LocalGitHub, tmp_path: Path
) -> None:
    local_github.create_repository("octo", "shop", FILES)
    # No other check of the push is waited for.
    settings = {"METAAGENT_SETTLE_S": "2"}
    with BotProcess(local_github, tmp_path / "data", settings) as bot:
        broken = {"shop.py": RIGHT.replace("paid - due", "paid + due")}
        head = local_github.push(NAME, "main", broken)
        until(lambda: any(run.status == "completed" for run in local_github.own_check_runs(head)))
        (check,) = local_github.own_check_runs(head)
        assert (check.title or "").startswith("FIXED"), bot.log.read_text()[-3000:]
    (offered,) = local_github.pull_requests(NAME)
    assert offered.pull is not None
    assert offered.pull.base_ref == "main"
    assert local_github.files(NAME, offered.pull.head_ref)["shop.py"].decode() == RIGHT
