"""Red checks in, pull requests out: the broken repositories of the demo, many times over, with real sandboxes."""

import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil

from benchmarks.measure import summary
from tests.demo.bot_process import BotProcess
from tests.demo.repositories import BrokenRepository, broken_repositories
from tests.demo.story import Told, problems_of, push_green, push_red, wait_for_ci, watch
from tests.github_server.server import LocalGitHub, Options

MISSION_S = 600.0
"""Nobody waits longer for one mission, its turn included."""


def missions_through(missions: int, workers: int = 2) -> dict[str, Any]:
    """Play so many missions, each in a repository of its own.

    Args:
        missions: The demo's repositories, in turn.
        workers: Missions at the same time.

    Returns:
        What came of them, how long each took from its red check on, and what that cost.
    """
    subprocess.run([sys.executable, "-m", "bot", "image"], capture_output=True, check=True)
    chosen = broken_repositories()
    plays = [
        (chosen[number % len(chosen)], f"owner{number // len(chosen)}")
        for number in range(missions)
    ]
    with (
        tempfile.TemporaryDirectory(prefix="load-") as folder,
        LocalGitHub(Options()) as github,
        BotProcess(github, Path(folder), {"METAAGENT_WORKERS": str(workers)}) as bot,
    ):
        _warm(github, chosen)
        reds = [_red(github, broken, owner) for broken, owner in plays]
        github.webhooks.release()
        process = psutil.Process(bot.process.pid) if bot.process else psutil.Process()
        before, begun = _cpu_s(process), time.perf_counter()
        told = _all_told(github, plays, reds)
        seconds = time.perf_counter() - begun
        return {
            "missions": missions,
            "at_once": workers,
            "seconds": round(seconds, 1),
            "missions_a_minute": round(60 * len(told) / seconds, 1),
            **_what_came(github, plays, told),
            "service_cpu_s_a_mission": round((_cpu_s(process) - before) / missions, 2),
            "service_rss_mib": round(process.memory_info().rss / 2**20),
        }


def _warm(github: LocalGitHub, chosen: list[BrokenRepository]) -> None:
    """The first mission of a repository makes its environment, which is kept."""
    for broken in chosen:
        wait_for_ci(
            github, github.store(push_green(github, broken, "warm")).ref("refs/heads/main") or ""
        )
        watch(github, broken, push_red(github, broken, "warm"), owner="warm", timeout=MISSION_S)
    github.settle()
    github.webhooks.hold()


def _red(github: LocalGitHub, broken: BrokenRepository, owner: str) -> str:
    """A red commit of which the service does not know yet."""
    wait_for_ci(
        github, github.store(push_green(github, broken, owner)).ref("refs/heads/main") or ""
    )
    return push_red(github, broken, owner)


def _all_told(
    github: LocalGitHub, plays: list[tuple[BrokenRepository, str]], reds: list[str]
) -> list[Told]:
    told: list[Told] = []
    lock = threading.Lock()

    def one(play: tuple[BrokenRepository, str], sha: str) -> None:
        found = watch(github, play[0], sha, owner=play[1], timeout=MISSION_S)
        with lock:
            told.append(found)

    with ThreadPoolExecutor(len(plays)) as pool:
        list(pool.map(one, plays, reds))
    return told


def _what_came(
    github: LocalGitHub, plays: list[tuple[BrokenRepository, str]], told: list[Told]
) -> dict[str, Any]:
    by_name = {broken.name: broken for broken, _ in plays}
    problems = sorted({problem for one in told for problem in problems_of(by_name[one.name], one)})
    wanted = sum(broken.expected["outcome"] == "FIXED" for broken, _ in plays)
    pulls = [len(github.pull_requests(f"{owner}/{broken.name}")) for broken, owner in plays]
    to_pull = [
        one.seconds_to_pull_request for one in told if one.seconds_to_pull_request is not None
    ]
    return {
        "told": len(told),
        "lost": len(plays) - len(told) + max(0, wanted - sum(pulls)),
        "doubled": sum(max(0, count - 1) for count in pulls)
        + sum(max(0, len(github.own_check_runs(one.sha)) - 1) for one in told),
        "pull_requests": sum(pulls),
        "problems": problems,
        "to_outcome_s": summary([one.seconds_to_check for one in told], digits=1),
        "to_pull_request_s": summary(to_pull, digits=1) if to_pull else None,
    }


def _cpu_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)
