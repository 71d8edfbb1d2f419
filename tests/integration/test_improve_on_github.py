"""/metaagent improve: a comment on a (local) GitHub becomes a verified pull request, through the whole service."""

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
FILES = {
    "stock.py": "import os\n\n\ndef has(items, name):\n    return name in items\n",
    "test_stock.py": "from stock import has\n\n\ndef test_has():\n    assert has([1], 1)\n",
    "requirements.txt": "pytest\n",
    ".github/metaagent.yml": "test_command: python -m pytest -q\n",
}


def until(condition: Callable[[], bool], seconds: float = 3 * HANG_S) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"waited {seconds} s"
        time.sleep(0.2)


def test_a_comment_becomes_a_pull_request_with_one_improvement(
    docker_ready: None, local_github: LocalGitHub, tmp_path: Path
) -> None:
    local_github.create_repository("octo", "shop", FILES)
    head = local_github.push(NAME, "feature", {"README": "A shop.\n"})
    pull = local_github.open_pull_request(NAME, "feature").number
    with BotProcess(local_github, tmp_path / "data") as bot:
        local_github.comment(NAME, pull, "octo", "/metaagent improve stock.py")
        until(lambda: any(run.status == "completed" for run in local_github.own_check_runs(head)))
        (check,) = local_github.own_check_runs(head)
        assert (check.title or "").startswith("IMPROVED: nothing was red; 1 test passes"), (
            bot.log.read_text()[-3000:]
        )
    (offered,) = [one for one in local_github.pull_requests(NAME) if one.number != pull]
    assert offered.pull is not None
    assert offered.title == "Remove 1 unused import (stock.py)"
    assert offered.pull.base_ref == "feature"
    assert "Behaviour stays the same" in (offered.body or "")
    improved = local_github.files(NAME, offered.pull.head_ref)["stock.py"]
    assert improved.decode() == FILES["stock.py"].removeprefix("import os\n\n\n")
    answers = [one.body for one in local_github.comments(NAME, pull) if "IMPROVED" in one.body]
    assert len(answers) == 1, "the person who asked gets an answer"
