"""One request, sent well: time limits, careful repeats, connections that are kept, answers that are asked for once."""

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
"""Understood by github.com and by every Enterprise Server in use; we read nothing that differs later."""

TIMEOUT = httpx.Timeout(20.0, connect=5.0)
WHOLE_S = 60.0
"""One request with its answer, however slowly it drips."""

PAUSES_S = (0.5, 1.5, 4.0)
"""Before a repeat; six seconds are also what a new token may need to be known everywhere."""

HOPS = 3
"""A renamed repository is one."""

SHORT_WAIT_S = 5.0
"""A limit that ends so soon is waited for; a longer one is the caller's to plan."""

ANSWERS_KEPT = 256
ANSWER_LIMIT = 256 * 1024
"""Bytes of an answer that is kept for its ETag."""

Send = Callable[[], Awaitable[httpx.Response]]
Ready = Callable[[], Awaitable[object]]


class Pooled(httpx.AsyncBaseTransport):
    """Connections that outlive the client of one request: githubkit makes a client for each."""

    def __init__(self) -> None:
        self._inner = httpx.AsyncHTTPTransport(limits=httpx.Limits(max_connections=16, keepalive_expiry=20.0))

    @override
    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        return await self._inner.handle_async_request(request)

    @override
    async def aclose(self) -> None:
        """Stays open; `really_close` closes."""

    async def really_close(self) -> None:
        """Close the connections."""
        await self._inner.aclose()


class Pace:
    """Writes to one repository: one at a time, and none too soon after the last, as GitHub asks."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._earliest = 0.0

    @asynccontextmanager
    async def turn(self, pause_s: float) -> AsyncIterator[None]:
        """Our turn to write; the next has to wait for `pause_s` afterwards."""
        async with self._lock:
            await asyncio.sleep(max(0.0, self._earliest - time.monotonic()))
            try:
                yield
            finally:
                self._earliest = time.monotonic() + pause_s


class Limit:
    """When GitHub wants to hear of us again: whoever asks before is told so without a request.

    Args:
        now: A clock that never goes back.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._until = 0.0
        self._again = 0

    def heed(self) -> None:
        """Go on, or not.

        Raises:
            RateLimited: it is too early.
        """
        left = self._until - self._now()
        if left > 0:
            raise RateLimited("GitHub limits us still", retry_after_s=left)

    def refused(self, error: RateLimited) -> RateLimited:
        """Remember a limit; one without a time becomes twice as long each time, as GitHub asks."""
        if error.retry_after_s == SECONDARY_WAIT_S:
            error.retry_after_s *= 2 ** min(self._again, 4)
        self._again += 1
        self._until = self._now() + error.retry_after_s
        return error

    def eased(self) -> None:
        """GitHub answers again."""
        self._again = 0


class Answers:
    """Answers with an ETag, the latest few: asking again for what has not changed is free."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Hashable, httpx.Response] = OrderedDict()

    def condition(self, key: Hashable) -> dict[str, str]:
        """The header that asks for news only."""
        known = self._kept.get(key)
        return {"If-None-Match": known.headers["etag"]} if known is not None else {}

    def settle(self, key: Hashable, reply: httpx.Response) -> httpx.Response:
        """The answer: the one we have when GitHub says nothing is new.

        Raises:
            GitHubError: nothing is new, and we have not got it any more; asking again helps.
        """
        if reply.status_code == httpx.codes.NOT_MODIFIED:
            if key not in self._kept:
                raise GitHubError("GitHub has nothing new, and the old is forgotten", retryable=True)
            self._kept.move_to_end(key)
            return self._kept[key]
        self._kept.pop(key, None)
        if reply.status_code == httpx.codes.OK and "etag" in reply.headers and _may_be_kept(reply.content):
            self._kept[key] = reply
            while len(self._kept) > ANSWERS_KEPT:
                self._kept.popitem(last=False)
        return reply


def _may_be_kept(content: bytes) -> bool:
    """A bare list may not: it stays the same when another page follows, and so does its ETag."""
    return len(content) <= ANSWER_LIMIT and content.startswith(b"{")


class Sender:
    """Sends by githubkit, which signs; nothing is repeated here that may have happened.

    Args:
        api_url: GitHub's API, with a slash at its end.
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
        """One request; its answer, whatever its status.

        A repository that was renamed or moved is followed: a write stays the write it is.

        Raises:
            GitHubError: there was no answer.
            SettingsError: signing in failed.
        """
        for _ in range(HOPS):
            reply = await self._once(auth, method, url, {"params": params, "json": json, "headers": headers})
            if method == "GET" or not reply.has_redirect_location:
                return reply
            target = reply.url.join(reply.headers["location"])
            if (target.scheme, target.netloc) != (reply.url.scheme, reply.url.netloc):
                break
            url = str(target)
        raise GitHubError("GitHub sends a write elsewhere, where it is not sent")

    async def _once(self, auth: Any, method: str, url: str, what: dict[str, Any]) -> httpx.Response:
        from githubkit import GitHub
        from githubkit.cache import MemCacheStrategy
        from githubkit.exception import AuthCredentialError, RequestError, RequestFailed

        if self._jwt_cache is None:
            # Not githubkit's own: that one is shared by every client of the process, by issuer only.
            self._jwt_cache = MemCacheStrategy()
        github = GitHub(
            auth,
            base_url=self._api_url,
            user_agent="metaagent",
            timeout=TIMEOUT,
            async_transport=self.transport,
            cache_strategy=self._jwt_cache,
            http_cache=False,
            auto_retry=False,
            # httpx would make a GET of a write that is sent elsewhere; a log is somewhere our token must not go.
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
            raise SettingsError(f"GitHub sign-in failed: {error}", "check METAAGENT_APP_ID") from error
        return reply.raw_response


async def careful(
    send: Send, *, needs: str, repeatable: bool, renewable: bool = False, ready: Ready | None = None
) -> httpx.Response:
    """Send, and again where that is safe: never a write that may have happened.

    Args:
        send: One try.
        needs: The permission, for the words of a refusal.
        repeatable: Doing it twice is doing it once.
        renewable: A refused sign-in may be helped by another token.
        ready: What has to be there before every try; it repeats by itself.
    """
    for pause in (*PAUSES_S, None):
        if ready is not None:
            await ready()
        try:
            response = await send()
        except GitHubError as error:
            if pause is None or not (repeatable and error.retryable):
                raise
            await asyncio.sleep(pause)
            continue
        if not response.is_error:
            return response
        refused = refusal(response, needs)
        wait = worth_waiting(refused, repeatable=repeatable, renewable=renewable, pause=pause)
        if wait is None:
            raise refused
        await asyncio.sleep(wait)
    raise AssertionError("the last turn returns or raises")


def worth_waiting(refused: GitHubError, *, repeatable: bool, renewable: bool, pause: float | None) -> float | None:
    """Seconds until a repeat makes sense, or None."""
    if pause is None:
        return None
    if isinstance(refused, RateLimited):
        return refused.retry_after_s if refused.retry_after_s <= SHORT_WAIT_S else None
    if refused.status == httpx.codes.UNAUTHORIZED:
        # Nothing was done: a new token is not known everywhere yet, or an old one was revoked.
        return pause if renewable else None
    return pause if repeatable and refused.retryable else None


def unreachable(error: Exception) -> GitHubError | SettingsError:
    """What it means that there was no answer."""
    if isinstance(error, httpx.TimeoutException):
        return GitHubError("GitHub did not answer in time", "try again later", retryable=True)
    if isinstance(error, httpx.HTTPError):
        reason = f"GitHub cannot be reached ({type(error).__name__})"
        return GitHubError(reason, "check METAAGENT_GITHUB_API_URL and the network", retryable=True)
    # The only other thing that happens while sending is signing in.
    reason = f"the App cannot sign in ({type(error).__name__})"
    return SettingsError(reason, "check METAAGENT_PRIVATE_KEY: it must be the App's key in PEM form")
