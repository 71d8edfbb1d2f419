"""A disk that is full for a while: what cannot be written is refused, and what was taken is done once there is room."""

import asyncio
import os
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest

from tests.chaos.crew import Crew, is_crowded, judge, say, until
from tests.demo.bot_process import BotProcess
from tests.github_server.server import LocalGitHub, Options
from tests.missing import missing

pytestmark = [pytest.mark.slow, pytest.mark.anyio]

FULL_S = 10.0
BACK_S = 90.0
BY_ITSELF_S = 40.0


class Disk:
    """A small disk of its own."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._filler = path / "filler"

    def fill(self) -> None:
        """Leave no room."""
        with suppress(OSError), self._filler.open("ab", buffering=0) as out:
            while out.write(bytes(1 << 16)):
                pass

    def make_room(self) -> None:
        """As an operator would."""
        self._filler.unlink()

    def check(self) -> dict[str, str]:
        """The verdict of SQLite on each of its files."""
        found = {}
        for path in sorted(self.path.rglob("*.sqlite")):
            with closing(sqlite3.connect(path)) as database:
                found[path.name] = str(database.execute("PRAGMA integrity_check").fetchone()[0])
        return found


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    path = tmp_path / "disk"
    path.mkdir()
    with mounted(path):
        yield Disk(path)


@contextmanager
def mounted(path: Path) -> Iterator[None]:
    if os.geteuid() != 0:
        missing("only root mounts a small disk")
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", str(path)], check=False
    ).returncode:
        missing("no small disk can be mounted here")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(path)], check=False)


async def goes_on_by_itself(crew: Crew, missions: int) -> bool:
    """Whether all is done without somebody starting the process again."""
    with suppress(AssertionError):
        await until(lambda: crew.are_done(missions), BY_ITSELF_S)
        return True
    return False


async def test_missions_under_way_outlive_a_full_disk(disk: Disk, tmp_path: Path) -> None:
    missions = 6
    url = f"sqlite:///{disk.path}/engine.sqlite"
    crew = Crew(url, tmp_path, options=("--workers", "3", "--submit", str(missions)))
    try:
        pid = crew.start()
        await until(crew.are_ready)
        await until(lambda: len(crew.lines()) >= 6)
        disk.fill()
        await asyncio.sleep(FULL_S)
        disk.make_room()
        back = time.monotonic()
        assert crew.are_ready(), "it lives"
        goes_on = await goes_on_by_itself(crew, missions)
        if not goes_on:
            crew.kill(pid, within=BACK_S)
            crew.start()
        await until(lambda: crew.are_done(missions), BACK_S, f"for all missions: {crew.states()}")
        took = time.monotonic() - back
        # Of three workers, each at most once before the disk is full, and once more while it is.
        figures = {"goes on without a restart": goes_on, **judge(crew, missions, unwritten=2 * 3)}
    finally:
        crew.stop()
    verdicts = disk.check()
    assert goes_on
    assert set(verdicts.values()) == {"ok"}
    say(
        f"disk full for {FULL_S:.0f} s, the engine",
        {**figures, "done after s": round(took, 1), **verdicts},
    )


async def test_what_the_full_disk_kept_out_is_fetched_once_there_is_room(
    disk: Disk, tmp_path: Path
) -> None:
    more = {
        "METAAGENT_SWEEP_S": "5",
        "METAAGENT_SETTLE_S": "5",
        "METAAGENT_WEBHOOK_ANSWER_S": "0.9",
    }
    with LocalGitHub(Options(tmp_path / "github")) as github:
        bot = BotProcess(github, disk.path, more)
        with bot:
            files = {"a.py": "x = 1\n", ".github/metaagent.yml": "enabled: false\n"}
            github.create_repository("octo", "calculator", files)

            def red(branch: str) -> str:
                sha = github.push("octo/calculator", branch, {"a.py": f"x = '{branch}'\n"})
                github.third_party_check("octo/calculator", sha, "tests", "failure")
                return sha

            def told(sha: str) -> int:
                return len([run for run in github.own_check_runs(sha) if run.status == "completed"])

            before = red("before")
            await until(lambda: told(before) == 1, 60, "for the first mission")
            await asyncio.to_thread(github.webhooks.drain, 30)
            sent = len(github.deliveries)
            disk.fill()
            meanwhile = [red(f"meanwhile-{number}") for number in range(3)]
            await asyncio.to_thread(github.webhooks.drain, 60)
            answers = github.deliveries[sent:]
            await asyncio.sleep(FULL_S)
            disk.make_room()
            back = time.monotonic()
            await until(
                lambda: all(told(sha) >= 1 for sha in meanwhile), BACK_S, "for what was kept out"
            )
            took = time.monotonic() - back
            await asyncio.sleep(6)
            assert [told(sha) for sha in (before, *meanwhile)] == [1] * 4, "each is told once"
            assert bot.process is not None
            assert bot.process.poll() is None, "it lives"
        verdicts = disk.check()
    slowest = max(one.duration for one in answers)
    figures = {
        "deliveries meanwhile": len(answers),
        "answered": sorted({one.status_code for one in answers}),
        "slowest answer s": round(slowest, 2),
        "all told once there was room after s": round(took, 1),
    }
    say(f"disk full for {FULL_S:.0f} s, the service", {**figures, **verdicts})
    assert set(verdicts.values()) == {"ok"}
    assert {one.status_code for one in answers} <= {202, 503}
    assert slowest < 1 or is_crowded()
