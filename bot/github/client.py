"""Sign in as the App, send one request well: scoped tokens, time limits, careful repeats."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any
from weakref import WeakKeyDictionary

import httpx
from pydantic import SecretStr
from typing_extensions import override

from bot.domain.request import RepositoryRef
from bot.errors import GitHubError, NotFound, NotPermitted, RateLimited, SettingsError
from bot.github.names import repository_path
from bot.github.refusals import refusal
from bot.github.replies import AppReply, InstallationReply, TokenReply
from bot.github.tokens import LIFE_S, YOUNG_S, Permissions, Token, TokenStore, rights_for

API_VERSION = "2022-11-28"
"""Understood by github.com and by every Enterprise Server in use; we read nothing that differs later."""

TIMEOUT = httpx.Timeout(20.0, connect=5.0)
PAUSES_S = (0.5, 1.5, 4.0)
"""Before a repeat; six seconds are also what a new token may need to be known everywhere."""

SHORT_WAIT_S = 5.0
"""A limit that ends so soon is waited for; a longer one is the caller's to plan."""

Send = Callable[[], Awaitable[httpx.Response]]


class _Pooled(httpx.AsyncBaseTransport):
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
        await self._inner.aclose()


@dataclass
class _Lane:
    """What belongs to one event loop: connections, locks and tokens cannot be shared between loops."""

    transport: _Pooled = field(default_factory=_Pooled)
    tokens: TokenStore = field(default_factory=TokenStore)
    installations: dict[int, int] = field(default_factory=dict)
    writing: asyncio.Lock = field(default_factory=asyncio.Lock)


class AppClient:
    """GitHub, seen by our App.

    Args:
        app_id: The App's numeric id (or client id).
        private_key: Its key, PEM.
        api_url: `https://api.github.com/`, or `https://HOST/api/v3/`.
    """

    def __init__(self, app_id: str, private_key: SecretStr, api_url: str) -> None:
        self.api_url = api_url if api_url.endswith("/") else f"{api_url}/"
        self._app_id = app_id
        self._private_key = private_key
        self._lanes: WeakKeyDictionary[asyncio.AbstractEventLoop, _Lane] = WeakKeyDictionary()
        self._jwt_cache: Any = None
        self._app: AppReply | None = None

    async def aclose(self) -> None:
        """Close the connections of this event loop."""
        lane = self._lanes.pop(asyncio.get_running_loop(), None)
        if lane is not None:
            await lane.transport.really_close()

    async def app(self) -> AppReply:
        """Who we are."""
        if self._app is None:
            reply = await self._as_app("GET", "/app")
            self._app = AppReply.model_validate_json(reply.content)
        return self._app

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
            method: GET, POST, PATCH.
            path: Below `/repos/owner/name`, already percent-encoded.
            needs: The permission, `checks:write`.
            params: The query.
            json: The body.

        Raises:
            GitHubError: refused, failed or not reached.
        """
        url = repository_path(repository) + path
        if method == "GET":
            return await self._as_installation(repository, needs, method, (url, params, json))
        # One write at a time, as GitHub asks.
        async with self._lane().writing:
            return await self._as_installation(repository, needs, method, (url, params, json))

    async def pages(
        self, repository: RepositoryRef, path: str, *, needs: str, params: Mapping[str, str | int], most: int = 10
    ) -> list[httpx.Response]:
        """Every page of a list, at most `most` of them."""
        replies: list[httpx.Response] = []
        for page in range(1, most + 1):
            query = {"per_page": 100, **params, "page": page}
            replies.append(await self.call(repository, "GET", path, needs=needs, params=query))
            if "next" not in replies[-1].links:
                break
        return replies

    async def token(self, repository: RepositoryRef, rights: Permissions) -> Token:
        """A token for this repository with these rights."""
        return await self._lane().tokens.get(repository.id, rights, lambda: self._mint(repository, rights))

    async def tail_of(self, url: str, limit: int, most: int) -> bytes:
        """The end of a document at a signed address, which must not see our token.

        Args:
            url: From a redirect of GitHub's.
            limit: Bytes kept.
            most: Bytes read before giving up on the rest.
        """
        kept = bytearray()
        read = 0
        async with httpx.AsyncClient(transport=self._lane().transport, timeout=TIMEOUT, follow_redirects=True) as plain:
            try:
                async with plain.stream("GET", url) as reply:
                    if reply.is_error:
                        await reply.aread()
                        raise refusal(reply, "actions:read")
                    async for part in reply.aiter_bytes():
                        kept += part
                        del kept[:-limit]
                        read += len(part)
                        if read > most:
                            break
            except httpx.HTTPError as error:
                raise _unreachable(error) from error
        return bytes(kept)

    # --- signing in -------------------------------------------------------------------------------

    def _lane(self) -> _Lane:
        loop = asyncio.get_running_loop()
        lane = self._lanes.get(loop)
        if lane is None:
            lane = self._lanes[loop] = _Lane()
        return lane

    async def _mint(self, repository: RepositoryRef, rights: Permissions) -> Token:
        wanted = {"repository_ids": [repository.id], "permissions": dict(rights)}
        try:
            installation = await self._installation(repository)
            path = f"/app/installations/{installation}/access_tokens"
            try:
                reply = await self._as_app("POST", path, json=wanted, repeatable=True)
            except NotPermitted as error:
                raise await self._named(installation, rights, error) from error
        except NotFound as error:
            advice = "install the App on this repository"
            raise NotPermitted("the App is not installed there", advice, status=error.status) from error
        minted = TokenReply.model_validate_json(reply.content)
        return Token(minted.token, time.monotonic(), _life_s(reply, minted))

    async def _installation(self, repository: RepositoryRef) -> int:
        if repository.installation_id is not None:
            return repository.installation_id
        known = self._lane().installations
        if repository.id not in known:
            reply = await self._as_app("GET", f"{repository_path(repository)}/installation")
            known[repository.id] = InstallationReply.model_validate_json(reply.content).id
        return known[repository.id]

    async def _named(self, installation: int, rights: Permissions, error: NotPermitted) -> NotPermitted:
        """The same refusal, saying which permissions the installation has not granted."""
        if error.status != httpx.codes.UNPROCESSABLE_ENTITY:
            return error
        reply = await self._as_app("GET", f"/app/installations/{installation}")
        granted = InstallationReply.model_validate_json(reply.content).permissions
        lacking = [f"{name}:{level}" for name, level in rights if not _covers(granted.get(name), level)]
        named = ", ".join(lacking) or "that was asked for"
        message = f"the installation has not granted {named}"
        return NotPermitted(message, f"accept the permission {named} for the App", status=error.status)

    async def _as_app(self, method: str, path: str, *, json: Any = None, repeatable: bool = False) -> httpx.Response:
        from githubkit import AppAuthStrategy

        auth = AppAuthStrategy(self._app_id, self._private_key.get_secret_value())
        return await self._careful(
            lambda: self._send(auth, method, (path, None, json)),
            needs="metadata:read",
            repeatable=repeatable or method == "GET",
        )

    async def _as_installation(
        self, repository: RepositoryRef, needs: str, method: str, what: tuple[str, Any, Any]
    ) -> httpx.Response:
        from githubkit import TokenAuthStrategy

        rights = rights_for(needs)

        async def send() -> httpx.Response:
            token = await self.token(repository, rights)
            response = await self._send(TokenAuthStrategy(token.value), method, what)
            if response.status_code == httpx.codes.UNAUTHORIZED and not token.is_young:
                self._lane().tokens.drop(repository.id, rights, token)
            return response

        return await self._careful(send, needs=needs, repeatable=method == "GET", renewable=True)

    async def _send(self, auth: Any, method: str, what: tuple[str, Any, Any]) -> httpx.Response:
        from githubkit import GitHub
        from githubkit.cache import MemCacheStrategy
        from githubkit.exception import AuthCredentialError, RequestError, RequestFailed

        if self._jwt_cache is None:
            # Not githubkit's own: that one is shared by every client of the process, by issuer only.
            self._jwt_cache = MemCacheStrategy()
        url, params, json = what
        github = GitHub(
            auth,
            base_url=self.api_url,
            user_agent="metaagent",
            timeout=TIMEOUT,
            async_transport=self._lane().transport,
            cache_strategy=self._jwt_cache,
            http_cache=False,
            auto_retry=False,
            follow_redirects=not url.endswith("/logs"),
        )
        try:
            headers = {"X-GitHub-Api-Version": API_VERSION}
            reply = await github.arequest(method, url, params=params, json=json, headers=headers)
        except RequestFailed as error:
            return error.response.raw_response
        except RequestError as error:
            raise _unreachable(error.exc) from error
        except AuthCredentialError as error:
            raise SettingsError(f"GitHub sign-in failed: {error}", "check METAAGENT_APP_ID") from error
        return reply.raw_response

    async def _careful(self, send: Send, *, needs: str, repeatable: bool, renewable: bool = False) -> httpx.Response:
        """Send, and again where that is safe: never a write that may have happened."""
        for pause in (*PAUSES_S, None):
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
            wait = _worth_waiting(refused, repeatable=repeatable, renewable=renewable, pause=pause)
            if wait is None:
                raise refused
            await asyncio.sleep(wait)
        raise AssertionError("the last turn returns or raises")


def _worth_waiting(refused: GitHubError, *, repeatable: bool, renewable: bool, pause: float | None) -> float | None:
    """Seconds until a repeat makes sense, or None."""
    if pause is None:
        return None
    if isinstance(refused, RateLimited):
        return refused.retry_after_s if refused.retry_after_s <= SHORT_WAIT_S else None
    if refused.status == httpx.codes.UNAUTHORIZED:
        # Nothing was done: a new token is not known everywhere yet, or an old one was revoked.
        return pause if renewable else None
    return pause if repeatable and refused.retryable else None


def _unreachable(error: Exception) -> GitHubError | SettingsError:
    if isinstance(error, httpx.TimeoutException):
        return GitHubError("GitHub did not answer in time", "try again later", retryable=True)
    if isinstance(error, httpx.HTTPError):
        reason = f"GitHub cannot be reached ({type(error).__name__})"
        return GitHubError(reason, "check METAAGENT_GITHUB_API_URL and the network", retryable=True)
    # The only other thing that happens while sending is signing in.
    reason = f"the App cannot sign in ({type(error).__name__})"
    return SettingsError(reason, "check METAAGENT_PRIVATE_KEY: it must be the App's key in PEM form")


def _life_s(reply: httpx.Response, minted: TokenReply) -> float:
    """How long to use a token, by GitHub's own clock."""
    if minted.expires_at is None:
        return LIFE_S
    try:
        now = parsedate_to_datetime(reply.headers.get("date", ""))
        return min(LIFE_S, (minted.expires_at - now).total_seconds() - YOUNG_S)
    except (ValueError, TypeError):
        return LIFE_S


def _covers(granted: Any, wanted: str) -> bool:
    return granted in {"write", "admin"} or granted == wanted
