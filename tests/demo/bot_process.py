"""The real service as a process of its own: start it, wait for it, kill it, start it again."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.github_server.server import LocalGitHub

READY_WITHIN_S = 300.0


@dataclass
class BotProcess:
    """`metaagent serve` against a local GitHub.

    Attributes:
        github: Where it is an App.
        data: Its data directory.
        more: Further settings, as environment variables.
        role: `serve`, or `web` and `worker`, which share the work.
    """

    github: LocalGitHub
    data: Path
    more: Mapping[str, str] = field(default_factory=dict)
    role: str = "serve"
    port: int = 0
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def log(self) -> Path:
        """What it wrote on standard error."""
        return self.data / "serve.log"

    def start(self) -> Self:
        """Start it and wait until it answers. Unless it is a worker, it then gets the webhooks.

        Raises:
            RuntimeError: it does not answer in time; carries the end of its log.
        """
        self.data.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not self.port:
            self.port = free_port()
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.command(),
                env=self.environment(),
                stderr=log,
                stdout=log,
                start_new_session=True,
            )
        self._wait()
        if self.role != "worker":
            self.github.webhook_url = f"{self.url}/webhook"
        return self

    def command(self) -> list[str]:
        """Return the command line that starts it."""
        return [sys.executable, "-m", "bot", *self.arguments()]

    def arguments(self) -> list[str]:
        """Return the command of the bot, with its options."""
        return [self.role, "--host", "127.0.0.1", "--port", str(self.port)]

    def environment(self) -> dict[str, str]:
        """What it is told, as variables."""
        key = self.data / "app.pem"
        key.touch(mode=0o600)
        key.write_text(self.github.private_key_pem)
        return {
            **{
                name: value
                for name, value in os.environ.items()
                if not name.startswith("METAAGENT_")
            },
            "METAAGENT_APP_ID": str(self.github.app_id),
            "METAAGENT_PRIVATE_KEY_FILE": str(key),
            "METAAGENT_WEBHOOK_SECRET": self.github.webhook_secret,
            "METAAGENT_GITHUB_API_URL": self.github.api_url,
            "METAAGENT_DATA_DIR": str(self.data),
            "METAAGENT_APP_SLUG": self.github.app_slug,
            # The local GitHub has no limits that ask for pauses.
            "METAAGENT_WRITE_PAUSE_S": "0",
            # On a crowded machine a disk is slow, and who is told 503 comes again with the next sweep only.
            "METAAGENT_WEBHOOK_ANSWER_S": "8",
            **self.more,
        }

    def kill(self) -> None:
        """`kill -9`: nothing is flushed, nobody is told."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """End it in order."""
        self._end(signal.SIGTERM)

    def _end(self, number: signal.Signals) -> None:
        if self.process is None:
            return
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(5)
        self.process = None

    def _wait(self) -> None:
        end = time.monotonic() + READY_WITHIN_S
        while time.monotonic() < end:
            if self.process is not None and self.process.poll() is not None:
                break
            try:
                with urllib.request.urlopen(f"{self.url}/healthz", timeout=2):
                    return
            except (urllib.error.URLError, OSError):
                time.sleep(0.05)
        self.kill()
        raise RuntimeError(
            f"the service did not answer:\n{self.log.read_text(errors='replace')[-3000:]}"
        )

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()


def free_port() -> int:
    """Return a port of the loopback that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
