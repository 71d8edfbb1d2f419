"""GitHub as one who holds tokens sees it: requests about repositories, pages, logs, GraphQL."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import httpx

from bot.domain.request import RepositoryRef
from bot.errors import RateLimited
from bot.github.names import repository_path
from bot.github.refusals import graphql_refusal, refusal
from bot.github.sending import TIMEOUT, WHOLE_S, Answers, Limit, Pace, Sender, careful, unreachable
from bot.github.tokens import Key, Permissions, Token, TokenStore, key_of, rights_for

WRITE_PAUSE_S = 1.0
"""GitHub asks for a second between writes."""

REPEATABLE = frozenset({"GET", "DELETE"})
"""Done twice is done once; everything else may leave a second trace."""


@dataclass(frozen=True)
class Identity:
    """Who we are on GitHub."""

    login: str
    """`metaagent[bot]`."""
    app_id: int | None = None
    """None for a person's token."""


@dataclass
class Lane:
    """What belongs to one event loop: connections, locks and tokens cannot be shared between loops."""

    sender: Sender
    tokens: TokenStore = field(default_factory=TokenStore)
    answers: Answers = field(default_factory=Answers)
    installations: dict[Key, int] = field(default_factory=dict)
    paces: dict[Key, Pace] = field(default_factory=dict)
    limits: dict[Key, Limit] = field(default_factory=dict)
    """By installation, or by repository where that is not known."""


class GitHubClient(ABC):
    """Sends requests with the token that each may have.

    Args:
        api_url: `https://api.github.com/`, or `https://HOST/api/v3/`.
        write_pause_s: Seconds between two writes to one repository.
    """

    renewable = True
    """Whether a refused token can be replaced."""

    def __init__(self, api_url: str, write_pause_s: float = WRITE_PAUSE_S) -> None:
        self.api_url = api_url if api_url.endswith("/") else f"{api_url}/"
        self._write_pause_s = write_pause_s
        self._lanes: WeakKeyDictionary[asyncio.AbstractEventLoop, Lane] = WeakKeyDictionary()
        self._identity: Identity | None = None

    async def identity(self) -> Identity:
        """Who we are; asked once."""
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
        """One request about a repository, with a token that may do just this.

        Args:
            repository: Whose.
            method: GET, POST, PATCH, DELETE.
            path: Below `/repos/owner/name`, already percent-encoded.
            needs: The permission, `checks:write`.
            params: The query.
            json: The body.

        Raises:
            GitHubError: refused, failed or not reached.
        """
        what = (method, repository_path(repository) + path, params, json)
        if method == "GET":
            return await self._signed(repository, needs, what)
        async with self._lane().paces.setdefault(key_of(repository), Pace()).turn(self._write_pause_s):
            return await self._signed(repository, needs, what)

    async def pages(
        self, repository: RepositoryRef, path: str, *, needs: str, params: Mapping[str, str | int], most: int = 30
    ) -> list[httpx.Response]:
        """Every page of a list, at most `most` of them."""
        replies: list[httpx.Response] = []
        for page in range(1, most + 1):
            query = {"per_page": 100, **params, "page": page}
            replies.append(await self.call(repository, "GET", path, needs=needs, params=query))
            if "next" not in replies[-1].links:
                break
        return replies

    async def mutate(self, repository: RepositoryRef, query: str, variables: Mapping[str, Any], *, needs: str) -> Any:
        """One GraphQL mutation about a repository; its data.

        Raises:
            GitHubError: refused, failed or not reached.
        """
        what = ("POST", graphql_url(self.api_url), None, {"query": query, "variables": dict(variables)})
        async with self._lane().paces.setdefault(key_of(repository), Pace()).turn(self._write_pause_s):
            reply = await self._signed(repository, needs, what)
        refused = graphql_refusal(reply, needs)
        if isinstance(refused, RateLimited):
            raise self._limit(repository).refused(refused)
        if refused is not None:
            raise refused
        return reply.json()["data"]

    async def token(self, repository: RepositoryRef, rights: Permissions) -> Token:
        """A token for this repository with these rights."""
        return await self._lane().tokens.get(key_of(repository), rights, lambda: self._mint(repository, rights))

    async def release(self, repository: RepositoryRef) -> None:
        """Give back every token held for a repository; never raises."""
        await self._revoke(self._lane().tokens.take(key_of(repository)))

    async def aclose(self) -> None:
        """Give back the tokens and close the connections of this event loop."""
        lane = self._lanes.get(asyncio.get_running_loop())
        if lane is not None:
            await self._revoke(lane.tokens.take())
            self._lanes.pop(asyncio.get_running_loop(), None)
            await lane.sender.aclose()

    async def tail_of(self, url: str, limit: int, most: int) -> bytes:
        """The end of a document at a signed address, which must not see our token.

        Args:
            url: From a redirect of GitHub's.
            limit: Bytes kept.
            most: Bytes read before giving up on the rest.
        """
        try:
            async with asyncio.timeout(WHOLE_S):
                return await self._tail_of(url, limit, most)
        except (httpx.HTTPError, TimeoutError) as error:
            raise unreachable(error if isinstance(error, httpx.HTTPError) else httpx.ReadTimeout("slow")) from error

    # --- what differs by kind of token --------------------------------------------------------------

    @abstractmethod
    async def _who(self) -> Identity: ...

    @abstractmethod
    async def _mint(self, repository: RepositoryRef, rights: Permissions) -> Token: ...

    @abstractmethod
    async def _revoke(self, tokens: list[Token]) -> None: ...

    # --- inside -------------------------------------------------------------------------------------

    def _lane(self) -> Lane:
        loop = asyncio.get_running_loop()
        lane = self._lanes.get(loop)
        if lane is None:
            lane = self._lanes[loop] = Lane(Sender(self.api_url))
        return lane

    def _limit(self, repository: RepositoryRef) -> Limit:
        return self._lane().limits.setdefault(repository.installation_id or key_of(repository), Limit())

    async def _signed(self, repository: RepositoryRef, needs: str, what: tuple[str, str, Any, Any]) -> httpx.Response:
        from githubkit import TokenAuthStrategy

        rights, lane = rights_for(needs), self._lane()
        method, url, params, json = what
        key = (key_of(repository), rights, url, tuple(sorted((params or {}).items())))
        is_read = method == "GET"

        async def send() -> httpx.Response:
            token = await self.token(repository, rights)
            headers = lane.answers.condition(key) if is_read else None
            auth = TokenAuthStrategy(token.value)
            reply = await lane.sender.send(auth, method, url, params=params, json=json, headers=headers)
            if reply.status_code == httpx.codes.UNAUTHORIZED and not token.is_young:
                lane.tokens.drop(key_of(repository), rights, token)
            return lane.answers.settle(key, reply) if is_read else reply

        limit = self._limit(repository)
        limit.heed()
        try:
            reply = await careful(
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

    async def _tail_of(self, url: str, limit: int, most: int) -> bytes:
        kept = bytearray()
        read = 0
        transport = self._lane().sender.transport
        async with (
            httpx.AsyncClient(transport=transport, timeout=TIMEOUT, follow_redirects=True) as plain,
            plain.stream("GET", url) as reply,
        ):
            if reply.is_error:
                await reply.aread()
                raise refusal(reply, "actions:read")
            async for part in reply.aiter_bytes():
                kept += part
                del kept[:-limit]
                read += len(part)
                if read > most:
                    break
        return bytes(kept)


def graphql_url(api_url: str) -> str:
    """Where GraphQL is answered, from where REST is."""
    if api_url.endswith("/api/v3/"):
        return f"{api_url.removesuffix('v3/')}graphql"
    return f"{api_url}graphql"


__all__ = ["TIMEOUT", "GitHubClient", "Identity", "graphql_url"]
