"""The service as `deploy/compose.postgres.yaml` runs it, against a local GitHub."""

import ipaddress
import json
import os
import shutil
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self
from uuid import uuid4

import yaml

from tests.demo.bot_process import BotProcess, free_port
from tests.demo.story import wait
from tests.github_server.server import LocalGitHub
from tests.missing import missing

FILE = Path(__file__).resolve().parents[1] / "deploy" / "compose.postgres.yaml"
SOCKET = Path("/var/run/docker.sock")
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
SERVICE_USER = 65532
"""The user of the service's images."""
STARTS_WITHIN_S = 60.0


@dataclass
class ComposeProject:
    """`docker compose up` of our file, as a context manager that takes everything down.

    The file's `name` is left out, which Compose 1 does not know; beside it there is one more file with
    what only a test needs.

    Attributes:
        github: Where the service is an App, with TLS at an address that containers reach.
        folder: For the data of the service; its path must be short.
        database: An image that starts as PostgreSQL's official one.
    """

    github: LocalGitHub
    folder: Path
    database: str

    def __post_init__(self) -> None:
        if os.geteuid() != 0:
            missing("only root may give files to the containers' user and kill their processes")
        self._name = f"metaagent-{uuid4().hex[:8]}"
        self._port = free_port()
        self._variables = {
            "DOCKER_GID": str(SOCKET.stat().st_gid),
            "EGRESS_FOLDER": str(self.folder / "egress"),
            "POSTGRES_IMAGE": self.database,
            "POSTGRES_PASSWORD": uuid4().hex,
            "WEB_PORT": str(self._port),
        }

    def __enter__(self) -> Self:
        self._write()
        try:
            self._run("up", "--detach")
            wait(self._is_up, STARTS_WITHIN_S, "the service in its containers")
        except BaseException:
            self._run("down", "--volumes")
            raise
        self.github.webhook_url = f"http://127.0.0.1:{self._port}/webhook"
        return self

    def __exit__(self, *_: object) -> None:
        self._run("down", "--volumes")

    def kill(self, service: str) -> None:
        """Kill a service's first process, as the machine would that has no memory left."""
        os.kill(self._describe(service)["State"]["Pid"], signal.SIGKILL)

    def health(self, service: str) -> str:
        """Return what the image's own check says."""
        return str(self._describe(service)["State"]["Health"]["Status"])

    def restarts(self, service: str) -> int:
        """Return how often the daemon started a service again."""
        return int(self._describe(service)["RestartCount"])

    def logs(self) -> str:
        """Return the end of all logs."""
        return self._run("logs", "--tail", "40")

    def _is_up(self) -> bool:
        worker = self._describe("worker")["State"]["Running"]
        return bool(worker) and self.health("web") == "healthy"

    def _describe(self, service: str) -> dict[str, Any]:
        container = self._run("ps", "--quiet", service).strip()
        done = subprocess.run(
            ["docker", "inspect", container], check=True, capture_output=True, text=True
        )
        (found,) = json.loads(done.stdout)
        assert isinstance(found, dict)
        return found

    def _write(self) -> None:
        """Write both files, the settings and the folders."""
        bot = BotProcess(self.github, self.folder / "data", {"METAAGENT_WORKER_TTL_S": "5"})
        bot.data.mkdir(mode=0o700)
        settings = {
            name: value
            for name, value in bot.environment().items()
            if name.startswith("METAAGENT_") and name != "METAAGENT_DATA_DIR"
        }
        settings["METAAGENT_PRIVATE_KEY_FILE"] = "/data/app.pem"
        lines = "".join(f"{name}={value}\n" for name, value in settings.items())
        (self.folder / "metaagent.env").write_text(lines)
        (self.folder / "egress").mkdir(mode=0o700)
        for path in (bot.data, *bot.data.rglob("*"), self.folder / "egress"):
            os.chown(path, SERVICE_USER, SERVICE_USER)
        ours = yaml.safe_load(FILE.read_text())
        del ours["name"]
        (self.folder / "compose.yaml").write_text(yaml.safe_dump(ours))
        bound = {"type": "none", "o": "bind", "device": str(bot.data)}
        trusted = self.folder / "certificates.pem"
        assert self.github.certificate is not None
        trusted.write_text(CERTIFICATES.read_text() + self.github.certificate.read_text())
        trusting = {
            "volumes": [f"{trusted}:{CERTIFICATES}:ro"],
            "environment": {"SSL_CERT_FILE": str(CERTIFICATES)},
        }
        more = {
            "services": {"web": trusting, "worker": trusting},
            "volumes": {"data": {"driver": "local", "driver_opts": bound}},
        }
        (self.folder / "more.yaml").write_text(yaml.safe_dump(more))

    def _run(self, *words: str) -> str:
        files = ("--file", "compose.yaml", "--file", "more.yaml")
        done = subprocess.run(
            [*_compose(), "--project-name", self._name, *files, *words],
            cwd=self.folder,
            env={**os.environ, **self._variables},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stdout


def bridge_address() -> str:
    """Return the address of this machine that containers reach, on the daemon's own bridge.

    The daemon names its gateway only after a restart; before, it is the subnet's first address.
    """
    done = subprocess.run(
        ["docker", "network", "inspect", "bridge"], check=True, capture_output=True, text=True
    )
    config = json.loads(done.stdout)[0]["IPAM"]["Config"][0]
    first = next(ipaddress.ip_network(config["Subnet"]).hosts())
    return str(config.get("Gateway") or first)


def _compose() -> list[str]:
    """Return the command of Docker Compose."""
    plugin = ["docker", "compose"]
    if subprocess.run([*plugin, "version"], capture_output=True, check=False).returncode == 0:
        return plugin
    if shutil.which("docker-compose") is None:
        missing("Docker Compose is not installed (scripts/ensure-docker)")
    return ["docker-compose"]
