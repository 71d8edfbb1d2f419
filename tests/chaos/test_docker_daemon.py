"""The Docker daemon restarted under a mission: people are told once, and nothing stands in the way of asking again.

A daemon of the test's own, with its own folder and socket: nobody else's containers are touched.
"""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chaos.crew import say, until
from tests.chaos.test_network import head
from tests.demo.bot_process import BotProcess
from tests.demo.repositories import broken_repository
from tests.demo.story import push_green, push_red, wait_for_ci, watch
from tests.github_server.server import LocalGitHub, Options
from tests.missing import missing

pytestmark = [pytest.mark.slow, pytest.mark.anyio, pytest.mark.docker]

TOLD_S = 300.0
AWAY_S = 5.0
BRIDGE, ADDRESS = "metaagent-chaos", "10.213.77.1/24"
"""Of its own: a daemon that is told to have no bridge takes the machine's away."""


class Daemon:
    """A Docker daemon beside the machine's own.

    Args:
        folder: Its data, its socket, its log.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.url = f"unix://{folder}/socket"
        self._process: subprocess.Popen[bytes] | None = None

    def begin(self) -> None:
        """Start it."""
        names = {"--data-root": "data", "--exec-root": "run", "--pidfile": "pid"}
        words = [
            word for option, name in names.items() for word in (option, str(self._folder / name))
        ]
        apart = [
            f"--bridge={BRIDGE}",
            "--iptables=false",
            "--ip-masq=false",
            "--cgroup-parent=/metaagent-chaos",
        ]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                ["dockerd", "-H", self.url, *words, *apart], stdout=log, stderr=log
            )

    async def start(self) -> None:
        """Start it, and wait until it answers."""
        self.begin()
        await until(lambda: self.ask("version").returncode == 0, 60, "for the second daemon")

    def stop(self, number: signal.Signals = signal.SIGTERM) -> None:
        """End it, and with it what it runs."""
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait(60)

    def ask(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Its command line."""
        return subprocess.run(
            ["docker", "-H", self.url, *words], capture_output=True, text=True, check=False
        )

    def take(self, image: str) -> None:
        """An image that the machine's own daemon has, and the one it is made from."""
        words = [
            "docker",
            "inspect",
            "-f",
            '{{join .RepoTags " "}}',
            image.rpartition(":")[2].partition("-")[0],
        ]
        below = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()
        with subprocess.Popen(["docker", "save", image, *below], stdout=subprocess.PIPE) as saved:
            subprocess.run(["docker", "-H", self.url, "load", "-q"], stdin=saved.stdout, check=True)


@pytest.fixture
def daemon(docker_ready: None) -> Iterator[Daemon]:
    if os.geteuid() != 0 or shutil.which("dockerd") is None:
        missing("a second Docker daemon needs dockerd, and root")
    folder = Path(tempfile.mkdtemp(prefix="metaagent-dockerd-"))  # a socket's path must be short
    built = Daemon(folder)
    subprocess.run(["ip", "link", "add", BRIDGE, "type", "bridge"], check=True)
    try:
        subprocess.run(["ip", "address", "add", ADDRESS, "dev", BRIDGE], check=True)
        yield built
        built.stop()
    finally:
        subprocess.run(["ip", "link", "delete", BRIDGE], check=False)
    # Its data are a mount of its own, which one that was killed leaves behind.
    subprocess.run(
        ["umount", "--lazy", str(folder / "data")], stderr=subprocess.DEVNULL, check=False
    )
    shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
async def test_a_restart_of_the_daemon_leaves_nothing_stuck(
    daemon: Daemon, tmp_path: Path, number: signal.Signals
) -> None:
    made = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-m", "bot", "image"],
        capture_output=True,
        text=True,
        check=True,
    )
    await daemon.start()
    await asyncio.to_thread(daemon.take, made.stdout.split()[0])
    broken = broken_repository("broken_math")
    more = {"DOCKER_HOST": daemon.url, "METAAGENT_SETTLE_S": "5", "METAAGENT_SWEEP_S": "10"}
    with (
        LocalGitHub(Options(tmp_path / "github")) as github,
        BotProcess(github, tmp_path / "bot", more) as bot,
    ):
        name = await asyncio.to_thread(push_green, github, broken)
        await asyncio.to_thread(wait_for_ci, github, head(github, name))
        sha = await asyncio.to_thread(push_red, github, broken)
        await until(lambda: bool(daemon.ask("ps", "-q").stdout.strip()), 120, "for a sandbox")
        await asyncio.sleep(1.0)
        daemon.stop(number)
        begun = time.monotonic()
        await asyncio.sleep(AWAY_S)
        await daemon.start()
        told = await asyncio.to_thread(watch, github, broken, sha, timeout=TOLD_S)
        took = time.monotonic() - begun
        await asyncio.sleep(15)  # a sweep, which must find nothing new
        assert len(github.own_check_runs(sha)) == 1, "people are told once"
        if told.outcome != "FIXED":
            # Told, and no more than told: whoever asks again is served, nothing stands in the way.
            github.rerequest(told.own_check, "acme")
        await until(lambda: bool(github.pull_requests(name)), TOLD_S, "for the pull request")
        await asyncio.sleep(5)
        assert len(github.pull_requests(name)) == 1
        assert bot.process is not None
        assert bot.process.poll() is None, "it lives"
        left = daemon.ask("ps", "-aq").stdout.split()
    figures = {
        "outcome": told.outcome,
        "told after s": round(took),
        "pull requests in the end": 1,
        "containers": len(left),
    }
    say(f"dockerd restarted ({number.name}, away for {AWAY_S:.0f} s)", figures)
    assert told.outcome in {"FIXED", "ERROR", "ENV_UNBUILDABLE"}
