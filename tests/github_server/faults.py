"""Switches that make the local GitHub misbehave the way the real one does on a bad day."""

import time
from dataclasses import dataclass, field

from tests.github_server.entities import Json


@dataclass(slots=True)
class Fault:
    """An answer given instead of the right one, for some requests and some times.

    Attributes:
        method: the HTTP method, or `*`.
        path: a part of the path: after `/api/v3` for REST, `/octo/math.git/info/refs` for git.
        status: the status answered; 0 only delays.
        times: how often; it counts down.
        headers: further headers of the answer.
        message: GitHub's `message`.
        delay: seconds to wait before anything is done.
        after: do the work first and lose the answer (a request that succeeded although the client saw an error).
    """

    method: str
    path: str
    status: int
    times: int = 1
    headers: dict[str, str] = field(default_factory=dict)
    message: str = "Server Error"
    delay: float = 0.0
    after: bool = False

    def matches(self, method: str, path: str) -> bool:
        """Whether this fault is for the request."""
        return self.times > 0 and self.method in {"*", method} and self.path in path


@dataclass(slots=True)
class Faults:
    """All switches of one server.

    Attributes:
        fresh_token_failures: how many first requests of every new installation token are answered 401.
        page_size: the most items a page has, whatever `per_page` says.
        log_misses: how many first requests of every job's log are answered 404.
        unsigned_rest: GitHub does not sign what a bot commits over REST (an older GHES).
        queue: further faults, first match first.
    """

    fresh_token_failures: int = 0
    page_size: int | None = None
    log_misses: int = 0
    unsigned_rest: bool = False
    queue: list[Fault] = field(default_factory=list)

    def add(self, method: str, path: str, status: int, **others: object) -> Fault:
        """Plan a fault; the keywords are the fields of `Fault`."""
        fault = Fault(method, path, status, **others)  # type: ignore[arg-type]
        self.queue.append(fault)
        return fault

    def secondary_limit(
        self, method: str, path: str, *, times: int = 1, retry_after: int | None = None
    ) -> Fault:
        """The secondary rate limit, with or without the header that says how long to wait."""
        headers = {"x-ratelimit-remaining": "4321"}
        if retry_after is not None:
            headers["retry-after"] = str(retry_after)
        message = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
        return self.add(method, path, 403, times=times, headers=headers, message=message)

    def primary_limit(
        self, method: str, path: str, *, times: int = 1, resets_in: float = 60
    ) -> Fault:
        """The hourly limit is used up."""
        reset = str(int(time.time() + resets_in))
        headers = {
            "x-ratelimit-remaining": "0",
            "x-ratelimit-used": "5000",
            "x-ratelimit-reset": reset,
        }
        message = "API rate limit exceeded for installation ID 1. If you reach out to GitHub Support for help, ask."
        return self.add(method, path, 403, times=times, headers=headers, message=message)

    def too_many(self, method: str, path: str, *, times: int = 1) -> Fault:
        """A bare 429, as a proxy before GitHub gives it."""
        return self.add(method, path, 429, times=times, message="Too Many Requests")

    def take(self, method: str, path: str) -> Fault | None:
        """The fault for this request, counted down."""
        for fault in self.queue:
            if fault.matches(method, path):
                fault.times -= 1
                return fault
        return None

    @staticmethod
    def body(fault: Fault) -> Json:
        """GitHub's error body for a fault."""
        return {"message": fault.message, "documentation_url": "https://docs.github.com/rest"}
