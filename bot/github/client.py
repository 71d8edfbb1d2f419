"""A GitHub client for requests about repositories: pages, logs and GraphQL."""

import asyncio
import re
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import httpx

from bot.domain.request import RepositoryRef
from bot.errors import GitHubError, RateLimited
from bot.github.names import repository_path
from bot.github.refusals import graphql_refusal, refusal
from bot.github.sending import (
    TIMEOUT,
    WHOLE_S,
    Answers,
    Limit,
    Pace,
    Sender,
    send_with_retries,
    unreachable,
)
from bot.github.tokens import Key, Permissions, Token, TokenStore, rights_for, token_key

WRITE_PAUSE_S = 1.0
"""Pause between two writes, in seconds; GitHub recommends one second."""

_MUTATION = re.compile(r"\bmutation\b[^{]*\{\s*(\w+)")
"""Finds the name of a GraphQL mutation."""

REPEATABLE = frozenset({"GET", "DELETE"})
"""Idempotent methods. A repeated POST or PATCH may act twice."""


@dataclass(frozen=True)
class Identity:
    """Our own identity on GitHub."""

    login: str
    """`metaagent[bot]`."""
    app_id: int | None = None
    """None for a personal token."""


@dataclass(frozen=True)
class Write:
    """A write that was sent to GitHub, without its content."""

    repository: RepositoryRef
    action: str
    """Method and path, or the name of a GraphQL mutation."""
    result: str
    """The status, or the reason for a missing one."""


OnWrite = Callable[[Write], Awaitable[None]]


@dataclass
class Lane:
    """The state of one event loop. Connections, locks and tokens cannot be shared between loops."""

    sender: Sender
    tokens: TokenStore = field(default_factory=TokenStore)
    answers: Answers = field(default_factory=Answers)
    installations: dict[Key, int] = field(default_factory=dict)
    paces: dict[Key, Pace] = field(default_factory=dict)
    limits: dict[Key, Limit] = field(default_factory=dict)
    """By installation, as GitHub counts requests; by repository if it is unknown."""


class GitHubClient(ABC):
    """A client that sends each request with the narrowest possible token.

    Args:
        api_url: `https://api.github.com/`, or `https://HOST/api/v3/`.
        write_pause_s: Seconds between two writes to one repository.
        on_write: Called after every write, even a failed one; must not raise.
    """

    renewable = True
    """True if a rejected token can be replaced."""

    def __init__(
        self, api_url: str, write_pause_s: float = WRITE_PAUSE_S, *, on_write: OnWrite | None = None
    ) -> None:
        self._on_write = on_write
        self.api_url = api_url if api_url.endswith("/") else f"{api_url}/"
        self._write_pause_s = write_pause_s
        self._lanes: WeakKeyDictionary[asyncio.AbstractEventLoop, Lane] = WeakKeyDictionary()
        self._identity: Identity | None = None

    async def identity(self) -> Identity:
        """Return our identity; fetched once."""
        if self._identity is None:
            self._identity = await self._who()
        return self._identity

    async def call(
        self,
        repository: RepositoryRef,
        method: str,
        path: str,
        *,
        needs: str,
        params: Mapping[str, str | int] | None = None,
        json: Any = None,
    ) -> httpx.Response:
        """Send one request about a repository, with a token limited to its needs.

        Args:
            repository: The repository.
            method: GET, POST, PATCH, DELETE.
            path: Below `/repos/owner/name`, already percent-encoded.
            needs: The required permission, `checks:write`.
            params: The query parameters.
            json: The request body.

        Raises:
            GitHubError: the request was refused, failed or got no response.
        """
        what = (method, repository_path(repository) + path, params, json)
        if method == "GET":
            return await self._sign(repository, needs, what)
        return await self._write(repository, needs, what, f"{method} {path}")

    async def read_elsewhere(
        self,
        repository: RepositoryRef,
        about: RepositoryRef,
        path: str,
        *,
        needs: str,
        params: Mapping[str, str | int] | None = None,
    ) -> httpx.Response:
        """Read about another repository with the token of this one, which reads public ones."""
        return await self._sign(
            repository, needs, ("GET", repository_path(about) + path, params, None)
        )

    async def pages(
        self,
        repository: RepositoryRef,
        path: str,
        *,
        needs: str,
        params: Mapping[str, str | int],
        most: int = 30,
    ) -> list[httpx.Response]:
        """Return the pages of a list, at most `most` of them."""
        replies: list[httpx.Response] = []
        for page in range(1, most + 1):
            # 100 is GitHub's largest page.
            query = {"per_page": 100, **params, "page": page}
            replies.append(await self.call(repository, "GET", path, needs=needs, params=query))
            if "next" not in replies[-1].links:
                break
        return replies

    async def mutate(
        self, repository: RepositoryRef, query: str, variables: Mapping[str, Any], *, needs: str
    ) -> Any:
        """Send one GraphQL mutation about a repository and return its data.

        Raises:
            GitHubError: the request was refused, failed or got no response.
        """
        what = (
            "POST",
            graphql_url(self.api_url),
            None,
            {"query": query, "variables": dict(variables)},
        )
        named = _MUTATION.search(query)
        reply = await self._write(repository, needs, what, named[1] if named else "mutation")
        refused = graphql_refusal(reply, needs)
        if isinstance(refused, RateLimited):
            raise self._limit(repository).refused(refused)
        if refused is not None:
            raise refused
        return reply.json()["data"]

    async def token(self, repository: RepositoryRef, rights: Permissions) -> Token:
        """Return a token for this repository with these rights."""
        return await self._lane().tokens.get(
            token_key(repository), rights, lambda: self._mint(repository, rights)
        )

    async def release(self, repository: RepositoryRef) -> None:
        """Revoke every token held for a repository; never raises."""
        await self._revoke(self._lane().tokens.take(token_key(repository)))

    async def aclose(self) -> None:
        """Revoke the tokens and close the connections of this event loop."""
        lane = self._lanes.get(asyncio.get_running_loop())
        if lane is not None:
            await self._revoke(lane.tokens.take())
            self._lanes.pop(asyncio.get_running_loop(), None)
            await lane.sender.aclose()

    async def read_tail(self, url: str, limit: int, most: int) -> bytes:
        """Return the end of a document at a signed address, without sending our token there.

        GitHub's signed addresses of logs expire after a minute.

        Args:
            url: The target of a redirect from GitHub.
            limit: Number of bytes to return.
            most: Number of bytes to read before stopping.
        """
        try:
            async with asyncio.timeout(WHOLE_S):
                return await self._read_tail(url, limit, most)
        except (httpx.HTTPError, TimeoutError) as error:
            raise unreachable(
                error if isinstance(error, httpx.HTTPError) else httpx.ReadTimeout("slow")
            ) from error

    # --- differs by kind of token -----------------------------------------------------------------

    @abstractmethod
    async def _who(self) -> Identity: ...

    @abstractmethod
    async def _mint(self, repository: RepositoryRef, rights: Permissions) -> Token: ...

    @abstractmethod
    async def _revoke(self, tokens: list[Token]) -> None: ...

    # --- internal ---------------------------------------------------------------------------------

    def _lane(self) -> Lane:
        loop = asyncio.get_running_loop()
        # The keys are weak references, so that the state disappears with its event loop.
        lane = self._lanes.get(loop)
        if lane is None:
            lane = self._lanes[loop] = Lane(Sender(self.api_url))
        return lane

    def _limit(self, repository: RepositoryRef) -> Limit:
        return self._lane().limits.setdefault(
            repository.installation_id or token_key(repository), Limit()
        )

    async def _write(
        self, repository: RepositoryRef, needs: str, what: tuple[str, str, Any, Any], action: str
    ) -> httpx.Response:
        """Send a write in its turn, and report it.

        GitHub's secondary rate limit asks for serial writes, at least one second apart.
        """
        result = "no answer"
        pace = self._lane().paces.setdefault(token_key(repository), Pace())
        try:
            async with pace.turn(self._write_pause_s):
                reply = await self._sign(repository, needs, what)
        except GitHubError as error:
            result = f"refused: {error.status}" if error.status else error.message
            raise
        else:
            result = str(reply.status_code)
            return reply
        finally:
            if self._on_write is not None:
                await self._on_write(Write(repository, action, result))

    async def _sign(
        self, repository: RepositoryRef, needs: str, what: tuple[str, str, Any, Any]
    ) -> httpx.Response:
        from githubkit import TokenAuthStrategy

        rights, lane = rights_for(needs), self._lane()
        method, url, params, json = what
        key = (token_key(repository), rights, url, tuple(sorted((params or {}).items())))
        is_read = method == "GET"

        async def send() -> httpx.Response:
            token = await self.token(repository, rights)
            headers = lane.answers.condition(key) if is_read else None
            auth = TokenAuthStrategy(token.value)
            reply = await lane.sender.send(
                auth, method, url, params=params, json=json, headers=headers
            )
            # A young token may only be unknown to this server; an older one was revoked.
            if reply.status_code == httpx.codes.UNAUTHORIZED and not token.is_young:
                lane.tokens.drop(token_key(repository), rights, token)
            return lane.answers.settle(key, reply) if is_read else reply

        limit = self._limit(repository)
        # GitHub may ban clients that continue during a limit.
        limit.heed()
        try:
            reply = await send_with_retries(
                send,
                needs=needs,
                repeatable=method in REPEATABLE,
                renewable=self.renewable,
                ready=lambda: self.token(repository, rights),
            )
        except RateLimited as error:
            raise limit.refused(error) from None
        limit.eased()
        return reply

    async def _read_tail(self, url: str, limit: int, most: int) -> bytes:
        kept = bytearray()
        read = 0
        transport = self._lane().sender.transport
        async with (
            # A client without credentials: the signed address must not receive our token.
            httpx.AsyncClient(transport=transport, timeout=TIMEOUT, follow_redirects=True) as plain,
            plain.stream("GET", url) as reply,
        ):
            if reply.is_error:
                await reply.aread()
                raise refusal(reply, "actions:read")
            async for part in reply.aiter_bytes():
                kept += part
                # Only the last bytes stay in memory.
                del kept[:-limit]
                read += len(part)
                if read > most:
                    break
        return bytes(kept)


def graphql_url(api_url: str) -> str:
    """Return the GraphQL address that belongs to a REST address."""
    # Enterprise Server: REST below /api/v3/, GraphQL at /api/graphql.
    if api_url.endswith("/api/v3/"):
        return f"{api_url.removesuffix('v3/')}graphql"
    return f"{api_url}graphql"


__all__ = ["TIMEOUT", "GitHubClient", "Identity", "OnWrite", "Write", "graphql_url"]
