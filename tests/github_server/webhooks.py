"""The webhook sender: GitHub's headers, its delivery log and redelivery, and switches for its bad habits."""

import hashlib
import hmac
import json
import queue
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlsplit

from tests.github_server.entities import Json, Repository
from tests.github_server.world import World
from tests.patience import HANG_S

LOOPBACK = {"127.0.0.1", "::1", "localhost"}
DEADLINE = 10.0
LARGEST = 25_000_000
NEEDS = {
    "check_run": "checks",
    "check_suite": "checks",
    "workflow_run": "actions",
    "workflow_job": "actions",
    "issue_comment": "issues",
    "issues": "issues",
    "pull_request": "pull_requests",
    "pull_request_review_comment": "pull_requests",
    "push": "contents",
    "status": "statuses",
}


def host_of(url: str) -> str | None:
    """The host of an address."""
    return urlsplit(url).hostname


@dataclass(frozen=True, slots=True)
class Delivery:
    """One attempt to deliver an event."""

    id: int
    guid: str
    event: str
    action: str | None
    payload: Json
    repository_id: int | None
    installation_id: int | None
    redelivery: bool = False
    delivered_at: str = ""
    duration: float = 0.0
    status: str = "pending"
    status_code: int = 0
    request_headers: dict[str, str] = field(default_factory=dict)
    response_headers: dict[str, str] = field(default_factory=dict)
    response_body: str = ""


class Webhooks:
    """Sends events in order from one thread, only to loopback addresses.

    Attributes:
        url: where to; nothing is sent while it is empty.
        delay: seconds before each delivery.
        duplicate: deliver everything twice with the same GUID.
        check: called with every event's name, action and payload.
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self.delay = 0.0
        self.duplicate = False
        self.check: Callable[[str, str | None, Json], None] = lambda *_: None
        self._url = ""
        self._held: list[Delivery] | None = None
        self._log: list[Delivery] = []
        self._queue: queue.Queue[Delivery | None] = queue.Queue()
        self._thread = threading.Thread(target=self._work, name="webhooks", daemon=True)

    @property
    def url(self) -> str:
        """The App's hook URL."""
        return self._url

    @url.setter
    def url(self, value: str) -> None:
        if value and host_of(value) not in LOOPBACK:
            raise ValueError("the local GitHub sends webhooks to loopback only")
        self._url = value

    @property
    def log(self) -> list[Delivery]:
        """All attempts, oldest first."""
        return list(self._log)

    def start(self) -> None:
        """Start the sender's thread."""
        self._thread.start()

    def stop(self) -> None:
        """Let go of what is not yet sent."""
        self._queue.put(None)
        self._thread.join(DEADLINE + 2)

    def drain(self, timeout: float = HANG_S) -> bool:
        """Wait until everything queued has been sent."""
        end = time.monotonic() + timeout
        while self._queue.unfinished_tasks and time.monotonic() < end:
            time.sleep(0.01)
        return not self._queue.unfinished_tasks

    # --- sending ------------------------------------------------------------------------------

    def send(
        self,
        event: str,
        payload: Json,
        repo: Repository | None = None,
        installation: int | None = None,
    ) -> None:
        """Deliver an event if our App is installed there, subscribed and permitted."""
        action = payload.get("action")
        if repo is not None:
            found = self.world.installation_of(repo)
            if found is None or found.suspended_at or not self._wanted(event, found.permissions):
                return
            installation = found.id
            payload = {
                **payload,
                "installation": {"id": found.id, "node_id": f"MDIzOkluc3RhbGxhdGlvbg{found.id}"},
            }
        self.check(event, action, payload)
        repository = repo.id if repo else None
        number = self.world.next_large_id()
        self._enqueue(
            Delivery(number, str(uuid.uuid4()), event, action, payload, repository, installation)
        )

    def _wanted(self, event: str, permissions: dict[str, str]) -> bool:
        return event in self.world.app.events and permissions.get(NEEDS[event], "none") != "none"

    def _enqueue(self, delivery: Delivery) -> None:
        if self._held is not None:
            self._held.append(delivery)
        elif self._url:
            self._queue.put(delivery)
            if self.duplicate:
                self._queue.put(delivery)

    def redeliver(self, number: int) -> bool:
        """Send a logged delivery again, with the same GUID; False if there is none."""
        found = next((one for one in self._log if one.id == number), None)
        if found is not None:
            self._queue.put(replace(found, id=self.world.next_large_id(), redelivery=True))
        return found is not None

    def hold(self) -> None:
        """Keep events back from now on."""
        self._held = self._held or []

    def release(self, order: Callable[[list[Delivery]], list[Delivery]] = list) -> None:
        """Send what was kept back, in another order if one is given (for example `reversed`)."""
        held, self._held = self._held or [], None
        for delivery in order(held):
            self._enqueue(delivery)

    def headers(self, delivery: Delivery, body: bytes) -> dict[str, str]:
        """GitHub's headers for a delivery."""
        secret = self.world.webhook_secret.encode()
        return {
            "accept": "*/*",
            "content-type": "application/json",
            "user-agent": "GitHub-Hookshot/local",
            "x-github-delivery": delivery.guid,
            "x-github-event": delivery.event,
            "x-github-hook-id": str(self.world.app.id + 1),
            "x-github-hook-installation-target-id": str(self.world.app.id),
            "x-github-hook-installation-target-type": "integration",
            "x-hub-signature": "sha1=" + hmac.new(secret, body, hashlib.sha1).hexdigest(),
            "x-hub-signature-256": "sha256=" + hmac.new(secret, body, hashlib.sha256).hexdigest(),
        }

    def _work(self) -> None:
        import httpx

        with httpx.Client(timeout=DEADLINE, trust_env=False) as client:
            while (delivery := self._queue.get()) is not None:
                try:
                    time.sleep(self.delay)
                    self._log.append(self._deliver(client, delivery))
                finally:
                    self._queue.task_done()

    def _deliver(self, client: Any, delivery: Delivery) -> Delivery:
        import httpx

        body = json.dumps(delivery.payload).encode()
        if len(body) > LARGEST:
            return replace(delivery, status="payload too large", delivered_at=self.world.now())
        headers = self.headers(delivery, body)
        begun = time.monotonic()
        done = replace(delivery, request_headers=headers, delivered_at=self.world.now())
        try:
            answer = client.post(self._url, content=body, headers=headers)
        except httpx.TimeoutException:
            return replace(
                done, status="timed out", status_code=504, duration=time.monotonic() - begun
            )
        except httpx.TransportError:
            text = "failed to connect to host"
            return replace(done, status=text, status_code=502, duration=time.monotonic() - begun)
        return replace(
            done,
            status="OK" if answer.is_success else f"Invalid HTTP Response: {answer.status_code}",
            status_code=answer.status_code,
            duration=round(time.monotonic() - begun, 3),
            response_headers=dict(answer.headers),
            response_body=answer.text[:10_000],
        )
