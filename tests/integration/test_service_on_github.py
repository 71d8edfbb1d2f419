"""The whole service as a process on a (local) GitHub, as far as it goes without a sandbox."""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from tests.demo.bot_process import BotProcess
from tests.github_server.fixtures import app_key, local_github
from tests.github_server.server import LocalGitHub
from tests.patience import COMMAND_S, HANG_S
from tests.postgres import Server

__all__ = ["app_key", "local_github"]

pytestmark = [pytest.mark.shared, pytest.mark.slow]
NAME = "octo/calculator"


@pytest.fixture(params=["one process", "two processes"])
def service(
    request: pytest.FixtureRequest, local_github: LocalGitHub, tmp_path: Path
) -> Iterator[Mapping[str, str]]:
    if request.param == "one process":
        with BotProcess(local_github, tmp_path / "data") as alone:
            yield alone.environment()
        return
    server: Server = request.getfixturevalue("postgres")
    more = {"METAAGENT_DATABASE_URL": server.new_database()}
    with BotProcess(local_github, tmp_path / "data", more, role="web") as web:
        worker = subprocess.Popen([sys.executable, "-m", "bot", "worker"], env=web.environment())
        try:
            yield web.environment()
            worker.terminate()
            assert worker.wait(HANG_S) == 0
        finally:
            worker.kill()


def until(condition: Callable[[], bool], seconds: float = HANG_S) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"waited {seconds} s"
        time.sleep(0.05)


def operator(service: Mapping[str, str], *words: str) -> str:
    """Run a command on the service's machine; return what it prints."""
    command = [sys.executable, "-m", "bot", *words]
    done = subprocess.run(
        command, env=service, check=True, timeout=COMMAND_S, stdout=subprocess.PIPE
    )
    return done.stdout.decode()


def test_a_red_check_and_a_command_reach_those_who_answer_and_a_pause_reaches_them_too(
    service: Mapping[str, str], local_github: LocalGitHub
) -> None:
    files = {"calculator.py": "x = 1\n", ".github/metaagent.yml": "enabled: false\n"}
    local_github.create_repository("octo", "calculator", files)
    red = local_github.push(NAME, "feature", {"calculator.py": "x = 2\n"})
    pull = local_github.open_pull_request(NAME, "feature").number
    for number in range(3):
        local_github.third_party_check(NAME, red, f"tests ({number})", "failure")
    until(lambda: any(run.status == "completed" for run in local_github.own_check_runs(red)))
    (told,) = local_github.own_check_runs(red)
    assert told.conclusion == "neutral"
    assert "POLICY" in (told.title or "")

    local_github.comment(NAME, pull, "octo", "/metaagent status")
    until(lambda: any("Status of" in comment.body for comment in local_github.comments(NAME, pull)))
    local_github.comment(NAME, pull, "stranger", "/metaagent status")

    operator(service, "pause", "--why", "an upgrade")
    later = local_github.push(NAME, "feature", {"calculator.py": "x = 3\n"})
    local_github.third_party_check(NAME, later, "tests", "failure")
    local_github.comment(NAME, pull, "octo", "/metaagent config")
    until(lambda: any("enabled" in comment.body for comment in local_github.comments(NAME, pull)))
    time.sleep(3)
    assert local_github.own_check_runs(later) == [], "no mission begins, and people are answered"
    operator(service, "resume")
    until(lambda: any(run.status == "completed" for run in local_github.own_check_runs(later)))

    told_in_the_morning = json.loads(operator(service, "report", "--json"))
    assert told_in_the_morning["outcomes"] == {"POLICY": 2}
    assert {one["place"] for one in told_in_the_morning["missions"]} == {NAME}
    actions = {(one["actor"], one["action"]) for one in told_in_the_morning["audit"]}
    assert {("octo", "command: status"), ("operator", "pause")} <= actions
    writes = [one for one in told_in_the_morning["audit"] if one["actor"].endswith("[bot]")]
    assert {one["place"] for one in writes} == {NAME}
    missions = {one["mission_id"] for one in told_in_the_morning["missions"]}
    assert missions <= {one["mission"] for one in writes}, "writes name their missions"
    (first, *_) = sorted(missions)
    assert "POLICY" in operator(service, "show", first)

    local_github.suspend("octo")
    local_github.settle()
    time.sleep(1)
    assert len([c for c in local_github.comments(NAME, pull) if "Status of" in c.body]) == 1
