"""Request transport: timeouts, safe retries, connection reuse and conditional requests."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable
from contextlib import asynccontextmanager
from typing import Any

import httpx
from typing_extensions import override

from bot.errors import GitHubError, RateLimited, SettingsError
from bot.github.refusals import SECONDARY_WAIT_S, refusal

API_VERSION = "2022-11-28"
"""Supported by github.com and every maintained Enterprise Server.

Version 2026-03-10 drops `merge_commit_sha` of pull requests, which we read.
"""

TIMEOUT = httpx.Timeout(20.0, connect=5.0)
WHOLE_S = 60.0
"""Timeout for one request including its whole response, in seconds.

httpx limits each read only, so a response that trickles in would never time out.
"""

PAUSES_S = (0.5, 1.5, 4.0)
"""Pauses before retries, in seconds.

Together six, as in octokit: a new token may be unknown to some servers that long.
"""

HOPS = 3
"""Most redirects of a write; a renamed repository takes one."""

SHORT_WAIT_S = 5.0
"""Longest rate-limit wait that is slept through, in seconds; longer ones are raised."""

ANSWERS_KEPT = 256
"""Most responses cached per event loop."""
ANSWER_LIMIT = 256 * 1024
"""Largest response cached for its ETag, in bytes."""

Send = Callable[[], Awaitable[httpx.Response]]
Ready = Callable[[], Awaitable[object]]


class Pooled(httpx.AsyncBaseTransport):
    """Connections that outlive a single request: githubkit creates a client for each."""

    def __init__(self) -> None:
        self._inner = httpx.AsyncHTTPTransport(
            limits=httpx.Limits(max_connections=16, keepalive_expiry=20.0)
        )

    @override
    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        return await self._inner.handle_async_request(request)

    @override
    async def aclose(self) -> None:
        """Keep the connections; `really_close` closes them."""

    async def really_close(self) -> None:
        """Close the connections."""
        await self._inner.aclose()


class Pace:
    """The rate of writes to one repository: one at a time, with a pause in between."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._earliest = 0.0

    @asynccontextmanager
    async def turn(self, pause_s: float) -> AsyncIterator[None]:
        """Wait for our turn to write; the next one waits for `pause_s` after it."""
        async with self._lock:
            await asyncio.sleep(max(0.0, self._earliest - time.monotonic()))
            try:
                yield
            finally:
                # Counted from the end of a write, even a failed one.
                self._earliest = time.monotonic() + pause_s


class Limit:
    """GitHub's rate limit: until it ends, requests are refused without being sent.

    Args:
        now: A monotonic clock.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._until = 0.0
        self._again = 0

    def heed(self) -> None:
        """Check the limit before a request.

        Raises:
            RateLimited: the limit has not ended yet.
        """
        left = self._until - self._now()
        if left > 0:
            raise RateLimited("GitHub's rate limit is still in effect", retry_after_s=left)

    def refused(self, error: RateLimited) -> RateLimited:
        """Record a limit; the wait doubles if GitHub gave none, as GitHub recommends."""
        if error.retry_after_s == SECONDARY_WAIT_S:
            # At most 16 minutes: 60 seconds, doubled four times.
            error.retry_after_s *= 2 ** min(self._again, 4)
        self._again += 1
        self._until = self._now() + error.retry_after_s
        return error

    def eased(self) -> None:
        """Reset the wait after a successful response."""
        self._again = 0


class Answers:
    """A cache of recent responses with an ETag; a 304 does not count against the rate limit."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Hashable, httpx.Response] = OrderedDict()

    def condition(self, key: Hashable) -> dict[str, str]:
        """Return the header for a conditional request."""
        known = self._kept.get(key)
        return {"If-None-Match": known.headers["etag"]} if known is not None else {}

    def settle(self, key: Hashable, reply: httpx.Response) -> httpx.Response:
        """Return the response; on 304, the cached one.

        Raises:
            GitHubError: the response is 304, but no longer cached; a retry helps.
        """
        if reply.status_code == httpx.codes.NOT_MODIFIED:
            if key not in self._kept:
                raise GitHubError(
                    "GitHub answered 304 for a response that is no longer cached", retryable=True
                )
            # The least recently used response is dropped first.
            self._kept.move_to_end(key)
            return self._kept[key]
        self._kept.pop(key, None)
        if (
            reply.status_code == httpx.codes.OK
            and "etag" in reply.headers
            and _may_be_kept(reply.content)
        ):
            self._kept[key] = reply
            while len(self._kept) > ANSWERS_KEPT:
                self._kept.popitem(last=False)
        return reply


def _may_be_kept(content: bytes) -> bool:
    """Return True for a single object.

    A bare list keeps its ETag when another page is added.
    """
    return len(content) <= ANSWER_LIMIT and content.startswith(b"{")


class Sender:
    """Sends requests through githubkit, which authenticates them. It never retries.

    Args:
        api_url: GitHub's API, with a trailing slash.
    """

    def __init__(self, api_url: str) -> None:
        self._api_url = api_url
        self._jwt_cache: Any = None
        self.transport = Pooled()

    async def aclose(self) -> None:
        """Close the connections."""
        await self.transport.really_close()

    async def send(
        self,
        auth: Any,
        method: str,
        url: str,
        *,
        params: Any = None,
        json: Any = None,
        headers: dict[str, str] | None = None,
    ) -> httpx.Response:
        """Send one request and return its response, for any status.

        Redirects of a renamed or moved repository are followed without changing the method.

        Raises:
            GitHubError: there was no response.
            SettingsError: authentication failed.
        """
        for _ in range(HOPS):
            reply = await self._once(
                auth, method, url, {"params": params, "json": json, "headers": headers}
            )
            if method == "GET" or not reply.has_redirect_location:
                return reply
            target = reply.url.join(reply.headers["location"])
            # Our token must not reach another host.
            if (target.scheme, target.netloc) != (reply.url.scheme, reply.url.netloc):
                break
            url = str(target)
        raise GitHubError("GitHub redirected a write to another host")

    async def _once(self, auth: Any, method: str, url: str, what: dict[str, Any]) -> httpx.Response:
        from githubkit import GitHub
        from githubkit.cache import MemCacheStrategy
        from githubkit.exception import AuthCredentialError, RequestError, RequestFailed

        if self._jwt_cache is None:
            # githubkit's default cache is shared by all clients of the process.
            self._jwt_cache = MemCacheStrategy()
        github = GitHub(
            auth,
            base_url=self._api_url,
            user_agent="metaagent",
            timeout=TIMEOUT,
            async_transport=self.transport,
            cache_strategy=self._jwt_cache,
            # Its default cache is shared by all clients of the process, also across tokens.
            http_cache=False,
            # githubkit repeats a POST after a 5xx, which may create a second comment.
            auto_retry=False,
            # httpx would turn a redirected write into a GET, and logs are stored on another host.
            follow_redirects=method == "GET" and not url.endswith("/logs"),
        )
        headers = {"X-GitHub-Api-Version": API_VERSION, **(what.pop("headers") or {})}
        try:
            async with asyncio.timeout(WHOLE_S):
                reply = await github.arequest(method, url, headers=headers, **what)
        except RequestFailed as error:
            return error.response.raw_response
        except RequestError as error:
            raise unreachable(error.exc) from error
        except TimeoutError as error:
            raise unreachable(httpx.ReadTimeout("slow")) from error
        except AuthCredentialError as error:
            raise SettingsError(
                f"GitHub sign-in failed: {error}", "check METAAGENT_APP_ID"
            ) from error
        return reply.raw_response


async def send_with_retries(
    send: Send, *, needs: str, repeatable: bool, renewable: bool = False, ready: Ready | None = None
) -> httpx.Response:
    """Send a request and retry where that is safe: never a write that may have succeeded.

    Args:
        send: One attempt.
        needs: The required permission, for error messages.
        repeatable: True if the request is idempotent.
        renewable: True if another token may help after a rejected one.
        ready: A prerequisite of every attempt, with its own retries.
    """
    for pause in (*PAUSES_S, None):
        if ready is not None:
            await ready()
        try:
            response = await send()
        except GitHubError as error:
            # Without a response, a write may have succeeded all the same.
            if pause is None or not (repeatable and error.retryable):
                raise
            await asyncio.sleep(pause)
            continue
        if not response.is_error:
            return response
        refused = refusal(response, needs)
        wait = retry_wait_s(refused, repeatable=repeatable, renewable=renewable, pause=pause)
        if wait is None:
            raise refused
        await asyncio.sleep(wait)
    raise AssertionError("the last turn returns or raises")


def retry_wait_s(
    refused: GitHubError, *, repeatable: bool, renewable: bool, pause: float | None
) -> float | None:
    """Return the seconds until a retry makes sense, or None."""
    if pause is None:
        return None
    if isinstance(refused, RateLimited):
        return refused.retry_after_s if refused.retry_after_s <= SHORT_WAIT_S else None
    if refused.status == httpx.codes.UNAUTHORIZED:
        # No effect yet: the token is too new to be known everywhere, or was revoked.
        return pause if renewable else None
    return pause if repeatable and refused.retryable else None


def unreachable(error: Exception) -> GitHubError | SettingsError:
    """Return the error for a request without a response."""
    if isinstance(error, httpx.TimeoutException):
        return GitHubError("GitHub did not answer in time", "try again later", retryable=True)
    if isinstance(error, httpx.HTTPError):
        reason = f"GitHub cannot be reached ({type(error).__name__})"
        return GitHubError(reason, "check METAAGENT_GITHUB_API_URL and the network", retryable=True)
    # The only other error raised while sending comes from authentication.
    reason = f"the App cannot sign in ({type(error).__name__})"
    return SettingsError(
        reason, "check METAAGENT_PRIVATE_KEY: it must be the App's key in PEM form"
    )
