"""`kill -9` after the 202 loses nothing, and nothing is done twice."""

import contextlib
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tests.demo.bot_process import free_port
from tests.patience import HANG_S
from tests.unit.bot.intake import payloads

ROOT = Path(__file__).resolve().parents[2]
MISSION = f"mission:42:{payloads.HEAD}:auto"

pytestmark = pytest.mark.slow


class Bot:
    """The process, its address, and what it left on disk."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.process: subprocess.Popen[bytes] | None = None
        self.url = ""

    def start(self, mode: str = "whole") -> None:
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        command = [
            sys.executable,
            "-m",
            "tests.integration.bot_process",
            str(self.folder),
            str(port),
            mode,
        ]
        self.process = subprocess.Popen(command, cwd=ROOT)
        self.until(self._answers)

    def kill(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(HANG_S)

    def deliver(self, delivery: str = "d-1") -> httpx.Response:
        """Deliver a webhook, again while the server is too busy to accept it."""
        body = payloads.encoded(payloads.check_run())
        headers = payloads.signed(body, "check_run", delivery)
        deadline = time.monotonic() + HANG_S
        while True:
            answer = httpx.post(
                f"{self.url}/webhook", content=body, headers=headers, timeout=HANG_S
            )
            if answer.status_code != 503 or time.monotonic() > deadline:
                return answer

    def status(self) -> str | None:
        asked = {"mission": MISSION}
        state: str | None = httpx.get(f"{self.url}/status", params=asked, timeout=HANG_S).json()
        return state

    def steps(self) -> list[str]:
        path = self.folder / "steps"
        return path.read_text().splitlines() if path.exists() else []

    def until(self, condition: object, seconds: float = HANG_S) -> None:
        deadline = time.monotonic() + seconds
        while not condition():  # type: ignore[operator]
            assert time.monotonic() < deadline, f"waited {seconds} s; steps so far: {self.steps()}"
            time.sleep(0.05)

    def _answers(self) -> bool:
        with contextlib.suppress(httpx.TransportError):
            return httpx.get(f"{self.url}/status", params={"mission": "x"}).status_code == 200
        return False


@pytest.fixture
def bot(tmp_path: Path) -> Iterator[Bot]:
    built = Bot(tmp_path)
    yield built
    if built.process is not None and built.process.poll() is None:
        built.kill()


def test_killed_in_the_middle_of_a_step_the_mission_goes_on_where_it_was(bot: Bot) -> None:
    bot.start()
    assert bot.deliver().status_code == 202
    bot.until(lambda: "begin second" in bot.steps())
    bot.kill()
    (bot.folder / "go").touch()
    bot.start()
    bot.until(lambda: bot.status() == "done")
    steps = bot.steps()
    assert steps.count("begin first") == 1, "a step with a checkpoint never runs again"
    assert steps.count("end second") == 1
    assert steps.count("begin third") == 1
    assert bot.deliver("d-2").json()["result"] == "duplicate"
    check = sqlite3.connect(bot.folder / "engine.sqlite")
    assert check.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert check.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    check.close()


def test_killed_right_after_the_last_202_of_a_storm_one_mission_is_done_once(bot: Bot) -> None:
    (bot.folder / "go").touch()
    bot.start("patient")
    with ThreadPoolExecutor(4) as storm:
        assert {
            answer.status_code for answer in storm.map(bot.deliver, [f"d-{n}" for n in range(12)])
        } == {202}
    assert bot.steps() == [], "killed while the checks of the head settle"
    bot.kill()
    bot.start("patient")
    assert bot.deliver("d-3").json()["result"] == "duplicate"
    bot.until(lambda: bot.status() == "done")
    assert bot.steps() == [
        f"{what} {step}" for step in ("first", "second", "third") for what in ("begin", "end")
    ]


def test_killed_before_the_engine_heard_of_it_the_mission_is_done_once_even_if_delivered_again(
    bot: Bot,
) -> None:
    (bot.folder / "go").touch()
    bot.start("deaf")
    assert bot.deliver().status_code == 202
    bot.kill()
    bot.start()
    assert bot.deliver().json()["result"] == "duplicate"
    bot.until(lambda: bot.status() == "done")
    assert [step for step in bot.steps() if step.startswith("end")] == [
        "end first",
        "end second",
        "end third",
    ]
