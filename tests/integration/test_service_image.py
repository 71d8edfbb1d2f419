"""The service's images, built here: small, without rights, and one mission over them and PostgreSQL."""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pytest
from typing_extensions import override

from tests.demo.bot_process import BotProcess
from tests.demo.repositories import broken_repository
from tests.demo.story import POLL_S, problems_of, push_green, push_red, wait, wait_for_ci, watch
from tests.github_server.server import LocalGitHub, Options
from tests.postgres import Server

pytestmark = [pytest.mark.docker, pytest.mark.slow]

ROOT = Path(__file__).resolve().parents[2]
SOCKET = Path("/var/run/docker.sock")
USER = 65532
MOST_BYTES = {"metaagent:web": 250e6, "metaagent:latest": 400e6}
CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"


@dataclass
class BotContainer(BotProcess):
    """The service in a container, with the flags of `deploy/compose.postgres.yaml`.

    Attributes:
        image: The image.
        egress: The folder that a worker shares with the Docker daemon; none for `web`.
    """

    image: str = "metaagent:latest"
    egress: Path | None = None
    name: str = ""

    @override
    def command(self) -> list[str]:
        self.name = f"metaagent-test-{uuid4().hex[:12]}"
        settings = [name for name in self.environment() if name.startswith("METAAGENT_")]
        for path in (self.data, *self.data.rglob("*")):
            os.chown(path, USER, USER)
        command = [
            *("docker", "run", "--rm", "--name", self.name, "--network", "host", "--read-only"),
            *("--tmpfs", "/tmp", "--cap-drop", "ALL", "--security-opt", "no-new-privileges:true"),
            *("--volume", f"{self.data}:/data", "--env", "HOME=/data"),
            *(word for name in settings for word in ("--env", name)),
        ]
        if self.egress is None:
            return [*command, self.image, *self.arguments()]
        group = str(SOCKET.stat().st_gid)
        command += ["--volume", f"{SOCKET}:{SOCKET}", "--group-add", group]
        command += ["--volume", f"{self.egress}:{self.egress}", "--no-healthcheck"]
        command += ["--volume", f"{CERTIFICATES}:{CERTIFICATES}:ro"]
        command += ["--env", f"SSL_CERT_FILE={CERTIFICATES}"]
        return [*command, self.image, self.role]

    @override
    def environment(self) -> dict[str, str]:
        egress = {"METAAGENT_SANDBOX__EGRESS_FOLDER": str(self.egress)} if self.egress else {}
        place = {"METAAGENT_HOST": "127.0.0.1", "METAAGENT_PORT": str(self.port)}
        inside = {"METAAGENT_DATA_DIR": "/data", "METAAGENT_PRIVATE_KEY_FILE": "/data/app.pem"}
        return {**super().environment(), **place, **inside, **egress}

    @override
    def kill(self) -> None:
        subprocess.run(["docker", "kill", self.name], check=True, capture_output=True)
        super().kill()

    @override
    def _wait(self) -> None:
        if self.egress is None:
            super()._wait()
            return
        # A worker opens no port.
        while not self._is_running():
            assert self.process is not None
            assert self.process.poll() is None, self.log.read_text()
            time.sleep(POLL_S)

    def _is_running(self) -> bool:
        command = ["docker", "inspect", "--format", "{{.State.Running}}", self.name]
        return subprocess.run(command, capture_output=True, check=False).stdout == b"true\n"

    def described(self) -> dict[str, object]:
        """The container, as the daemon describes it."""
        done = subprocess.run(
            ["docker", "inspect", self.name], check=True, capture_output=True, text=True
        )
        (found,) = json.loads(done.stdout)
        assert isinstance(found, dict)
        return found

    def is_healthy(self) -> bool:
        """Return True if the image's own check says so."""
        state = self.described()["State"]
        assert isinstance(state, dict)
        return bool(state["Health"]["Status"] == "healthy")


@pytest.fixture(scope="module")
def images(docker_ready: None) -> None:
    """Both images, built from this checkout."""
    script = ROOT / "scripts" / "build-service-image"
    place = Path(sys.executable).parents[1]
    done = subprocess.run([script, place], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.split() == list(MOST_BYTES)


@pytest.fixture
def egress() -> Iterator[Path]:
    """A short path: that of a socket has a limit."""
    with tempfile.TemporaryDirectory(prefix="egress-", dir="/tmp") as folder:
        os.chown(folder, USER, USER)
        yield Path(folder)


@pytest.mark.parametrize("image", MOST_BYTES)
def test_an_image_is_small_and_its_user_is_not_root(images: None, image: str) -> None:
    done = subprocess.run(
        ["docker", "image", "inspect", image], check=True, capture_output=True, text=True
    )
    (found,) = json.loads(done.stdout)
    assert found["Config"]["User"] == f"{USER}:{USER}"
    if not any(one.startswith("PYTHON_VERSION=") for one in found["Config"]["Env"]):
        # From Debian packages; the size of another base is not ours.
        assert found["Size"] <= MOST_BYTES[image]


def test_a_mission_survives_the_end_of_its_worker(
    images: None, postgres: Server, tmp_path: Path, egress: Path
) -> None:
    settings = {"METAAGENT_DATABASE_URL": postgres.new_database(), "METAAGENT_WORKER_TTL_S": "5"}
    broken = broken_repository("broken_math")
    with (
        LocalGitHub(Options()) as github,
        BotContainer(github, tmp_path / "data", settings, role="web", image="metaagent:web") as web,
        BotContainer(github, tmp_path / "data", settings, role="worker", egress=egress) as worker,
    ):
        name = push_green(github, broken)
        wait_for_ci(github, github.store(name).ref("refs/heads/main") or "")
        sha = push_red(github, broken)
        wait(lambda: bool(github.own_check_runs(sha)), 60, "the mission's check run")
        worker.kill()
        worker.start()
        told = watch(github, broken, sha)
        assert problems_of(broken, told) == [], worker.log.read_text()[-3000:]
        assert len(github.pull_requests(name)) == 1
        wait(web.is_healthy, 60, "the image's health check")
