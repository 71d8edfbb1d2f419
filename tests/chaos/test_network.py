"""The network to GitHub cut while a mission works: one check run, one pull request, one commit all the same."""

import asyncio
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.chaos.crew import say, until
from tests.chaos.wire import State, Wire
from tests.demo.bot_process import BotProcess
from tests.demo.repositories import broken_repository
from tests.demo.story import problems_of, push_green, push_red, wait_for_ci, watch
from tests.github_server.server import LocalGitHub, Options

pytestmark = [pytest.mark.slow, pytest.mark.anyio, pytest.mark.docker]

CUT_S = 15.0
TOLD_S = 240.0
"""What GitHub did not take is tried again after 20 s and after 2 min."""


@pytest.mark.parametrize("state", ["refused", "silent"])
@pytest.mark.parametrize("moment", ["at the start", "in the middle"])
async def test_a_mission_outlives_a_cut_of_the_network(
    tmp_path: Path, docker_ready: None, state: State, moment: str
) -> None:
    broken = broken_repository("broken_math")
    with (
        LocalGitHub(Options(tmp_path / "github")) as github,
        Wire(urlsplit(github.web_url).port or 0) as wire,
    ):
        more = {
            "METAAGENT_GITHUB_API_URL": f"http://127.0.0.1:{wire.port}/api/v3/",
            "METAAGENT_SETTLE_S": "5",
        }
        with BotProcess(github, tmp_path / "bot", more) as bot:
            await asyncio.to_thread(
                lambda: wait_for_ci(github, head(github, push_green(github, broken)))
            )
            if moment == "at the start":
                wire.set(state)
            sha = await asyncio.to_thread(push_red, github, broken)
            if moment == "in the middle":
                await until(
                    lambda: bool(github.own_check_runs(sha)), 60, "for the mission to begin"
                )
                await asyncio.sleep(1.0)
                wire.set(state)
            begun = time.monotonic()
            await asyncio.sleep(CUT_S)
            wire.set("whole")
            told = await asyncio.to_thread(watch, github, broken, sha, timeout=TOLD_S)
            took = time.monotonic() - begun
            await asyncio.sleep(3)
            counts = {
                "check runs": len(github.own_check_runs(sha)),
                "pull requests": len(github.pull_requests("acme/broken_math")),
            }
            assert bot.process is not None
            assert bot.process.poll() is None, "it lives"
    say(
        f"network {state} {moment} for {CUT_S:.0f} s",
        {"outcome": told.outcome, "told after s": round(took), **counts},
    )
    assert problems_of(broken, told) == []
    assert set(counts.values()) == {1}


def head(github: LocalGitHub, name: str) -> str:
    """The tip of the main branch."""
    return github.store(name).ref("refs/heads/main") or ""
