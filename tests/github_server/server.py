"""Starts and stops a local GitHub: two uvicorn servers in background threads on loopback ports."""

import asyncio
import contextlib
import socket
import sys
import tempfile
import threading
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import uvicorn
from typing_extensions import override

from tests.github_server.app import GitHubApp
from tests.github_server.blobs import blob_app
from tests.github_server.ci import LocalCi
from tests.github_server.controls import Controls
from tests.github_server.exchange import Checker
from tests.github_server.hub import Hub
from tests.github_server.keys import new_certificate, new_private_key
from tests.github_server.waiting import wait_until
from tests.github_server.webhooks import Webhooks
from tests.github_server.world import World

DESCRIPTION = (
    "github-openapi-subset.json",
    "github-webhooks-subset.json",
    "github-permissions.json",
)

__all__ = ["LocalGitHub", "Options", "new_private_key", "strict_github"]


@dataclass(frozen=True, slots=True)
class Options:
    """How a local GitHub is started.

    Attributes:
        data: where the repositories live; a temporary folder by default, removed at the end.
        host: where both servers listen: the loopback, or the address of a bridge of containers.
        tls: with a certificate of its own for `host`, see `LocalGitHub.certificate`.
        port: 0 takes a free one.
        openapi_dir: the folder with GitHub's description; without it exchanges are not checked.
        ci_python: what `python` means in CI steps.
        private_key_pem: the App's key; made when missing.
    """

    data: Path | None = None
    host: str = "127.0.0.1"
    tls: bool = False
    port: int = 0
    openapi_dir: Path | None = None
    ci_python: Path = Path(sys.executable)
    private_key_pem: str = ""


class _Uvicorn(uvicorn.Server):
    """A server that hears at once that it shall stop; uvicorn itself looks every tenth of a second."""

    @override
    async def main_loop(self) -> None:
        self._loop, self._asked = asyncio.get_running_loop(), asyncio.Event()
        while not (self.should_exit or self._asked.is_set()):
            await self.on_tick(0)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._asked.wait(), 1)

    def ask_to_stop(self) -> None:
        """From any thread."""
        self.should_exit = True
        with contextlib.suppress(AttributeError, RuntimeError):  # not begun, or at its end already
            self._loop.call_soon_threadsafe(self._asked.set)


class _Server(threading.Thread):
    """One uvicorn server on a socket that is bound before the thread starts."""

    def __init__(self, host: str, port: int, certificate: Path | None) -> None:
        super().__init__(daemon=True)
        # With the protocol left at 0 asyncio does not set TCP_NODELAY, and every answer waits 40 ms for an ACK.
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._socket.bind((host, port))
        scheme = "http" if certificate is None else "https"
        self.url = f"{scheme}://{host}:{self._socket.getsockname()[1]}"
        self._certificate = certificate
        self._server: _Uvicorn | None = None

    def serve(self, app: object) -> None:
        """Start serving and return when the server answers."""
        config = uvicorn.Config(
            app,  # type: ignore[arg-type]
            log_level="critical",
            lifespan="off",
            ws="none",
            timeout_graceful_shutdown=3,
            ssl_certfile=self._certificate,
        )
        self._server = _Uvicorn(config)
        self.start()
        if not wait_until(lambda: bool(self._server and self._server.started), 15):
            raise RuntimeError("the local GitHub did not start")

    @override
    def run(self) -> None:
        """The thread."""
        if self._server is not None:
            asyncio.run(self._server.serve(sockets=[self._socket]))

    def ask_to_stop(self) -> None:
        """Begin to stop, without waiting."""
        if self._server is not None:
            self._server.ask_to_stop()

    def close(self) -> None:
        """Stop serving."""
        self.ask_to_stop()
        if self._server is not None:
            self.join(15)
        self._socket.close()


class LocalGitHub(Controls):
    """A local GitHub as a context manager; see `Controls` for what a test can do with it."""

    def __init__(self, options: Options | None = None) -> None:
        self.options = options or Options()
        self._stack = contextlib.ExitStack()
        folder = self.options.openapi_dir
        self.checked = folder is not None and all((folder / name).is_file() for name in DESCRIPTION)
        description = folder if self.checked else None
        data = self.options.data or Path(
            self._stack.enter_context(tempfile.TemporaryDirectory(prefix="github-"))
        )
        self.world = World(data, self.options.private_key_pem or new_private_key())
        self.hub = Hub(self.world, Webhooks(self.world))
        self.checker = Checker(description)
        self.certificate = data / "certificate.pem" if self.options.tls else None
        """Its certificate with the key, for those who shall trust it."""
        if self.certificate is not None:
            self.certificate.write_text(new_certificate(self.options.host))
        jobs = data / "jobs"
        jobs.mkdir(parents=True, exist_ok=True)
        self.ci = LocalCi(self.hub, self.options.ci_python, jobs)
        self.hub.start_ci, self.hub.rerun_ci = self.ci.start, self.ci.rerun
        self.hub.report = self.checker.report
        self.hub.webhooks.check = self.checker.submit_webhook
        self.app = GitHubApp(self.hub, self.checker, description)

    @property
    def requests(self) -> list[str]:
        """Every REST request so far, as `METHOD /path`."""
        return list(self.app.requests)

    def describe(self) -> str:
        """One sentence about how strict this server is."""
        if self.checked:
            return f"every exchange is checked against GitHub's description in {self.options.openapi_dir}"
        return "exchanges are not checked (no description given); permissions come from the built-in table"

    def start(self) -> Self:
        """Open both ports and start the threads."""
        with contextlib.ExitStack() as stack:
            self.checker.start()
            stack.callback(self.checker.stop)
            self.hub.webhooks.start()
            stack.callback(self.hub.webhooks.stop)
            stack.callback(self.ci.stop)
            host, certificate = self.options.host, self.certificate
            main, blobs = (_Server(host, port, certificate) for port in (self.options.port, 0))
            for server in (main, blobs):
                stack.callback(server.close)
            for server in (main, blobs):
                stack.callback(server.ask_to_stop)
            self.world.web_url, self.world.blob_url = main.url, blobs.url
            main.serve(self.app.asgi())
            blobs.serve(blob_app(self.world))
            self._stack.push(stack.pop_all())
        return self

    def stop(self) -> None:
        """Close the ports, end the CI and remove a temporary folder."""
        self._stack.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()


@contextlib.contextmanager
def strict_github(options: Options) -> Generator[LocalGitHub, None, None]:
    """A local GitHub that fails its user's test when an exchange broke GitHub's description."""
    with LocalGitHub(options) as github:
        yield github
        found = github.violations
    if found:
        raise AssertionError("exchanges break GitHub's description:\n" + "\n".join(found))
