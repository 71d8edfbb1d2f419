"""A small webhook receiver for tests that have no bot running."""

import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self

from typing_extensions import override

from tests.github_server.entities import Json
from tests.patience import HANG_S


@dataclass(frozen=True, slots=True)
class Received:
    """One webhook as it arrived."""

    headers: dict[str, str]
    body: bytes

    @property
    def event(self) -> str:
        """The event's name."""
        return self.headers["x-github-event"]

    @property
    def payload(self) -> Json:
        """The event's body."""
        found: Json = json.loads(self.body)
        return found

    @property
    def title(self) -> str:
        """Event and action, as `check_run.completed`."""
        return ".".join(filter(None, (self.event, self.payload.get("action"))))


@dataclass(slots=True)
class WebhookReceiver:
    """Answers 202 (or `status`) and keeps everything."""

    status: int = 202
    received: list[Received] = field(default_factory=list)
    _server: ThreadingHTTPServer | None = None

    @property
    def url(self) -> str:
        """Where to send webhooks."""
        port = self._server.server_address[1] if self._server else 0
        return f"http://127.0.0.1:{port}/webhook"

    @property
    def titles(self) -> list[str]:
        """Events and actions in the order they arrived."""
        return [one.title for one in self.received]

    def wait_for(self, wanted: Callable[[Received], bool], timeout: float = HANG_S) -> Received:
        """The first webhook that satisfies a condition.

        Raises:
            TimeoutError: none came.
        """
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            for one in list(self.received):
                if wanted(one):
                    return one
            time.sleep(0.02)
        raise TimeoutError(f"no such webhook among {self.titles}")

    def __enter__(self) -> Self:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                outer.received.append(
                    Received({name.lower(): value for name, value in self.headers.items()}, body)
                )
                self.send_response(outer.status)
                self.send_header("content-length", "0")
                self.end_headers()

            @override
            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
        ).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
