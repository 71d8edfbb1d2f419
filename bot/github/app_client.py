"""GitHub as our App: each token is created for one repository and one step, then revoked."""

import asyncio
import time
from contextlib import suppress
from email.utils import parsedate_to_datetime
from typing import Any

import httpx
from pydantic import SecretStr
from typing_extensions import override

from bot.domain.request import RepositoryRef
from bot.errors import GitHubError, NotFound, NotPermitted, SettingsError
from bot.github.app_replies import AppReply, InstallationReply, TokenReply
from bot.github.client import WRITE_PAUSE_S, GitHubClient, Identity, OnWrite
from bot.github.names import repository_path
from bot.github.sending import send_with_retries
from bot.github.tokens import LIFE_S, METADATA, YOUNG_S, Permissions, Token, token_key

REVOKE_S = 5.0
"""Timeout for revoking a token, in seconds."""


class AppClient(GitHubClient):
    """Calls GitHub as our App.

    Args:
        app_id: The App's numeric id (or client id).
        private_key: The App's private key, PEM.
        api_url: `https://api.github.com/`, or `https://HOST/api/v3/`.
        write_pause_s: Seconds between two writes to one repository.
    """

    def __init__(
        self,
        app_id: str,
        private_key: SecretStr,
        api_url: str,
        write_pause_s: float = WRITE_PAUSE_S,
        *,
        on_write: OnWrite | None = None,
    ) -> None:
        super().__init__(api_url, write_pause_s, on_write=on_write)
        self._app_id = app_id
        self._private_key = private_key
        self._app: AppReply | None = None

    async def app(self) -> AppReply:
        """Return our App; fetched once."""
        if self._app is None:
            self._app = AppReply.model_validate_json((await self.as_app("GET", "/app")).content)
        return self._app

    async def as_app(
        self,
        method: str,
        path: str,
        *,
        params: Any = None,
        json: Any = None,
        repeatable: bool = False,
    ) -> httpx.Response:
        """Send one request signed by the App itself."""
        from githubkit import AppAuthStrategy

        auth = AppAuthStrategy(self._app_id, self._private_key.get_secret_value())
        sender = self._lane().sender
        return await send_with_retries(
            lambda: sender.send(auth, method, path, params=params, json=json),
            needs="metadata:read",
            repeatable=repeatable or method == "GET",
        )

    async def installation_repositories(
        self, installation: int, most: int = 50
    ) -> list[httpx.Response]:
        """Return the pages of an installation's repositories, read with a metadata-only token."""
        from githubkit import TokenAuthStrategy

        token = await self._minted(installation, {"permissions": dict(METADATA)})
        auth, sender = TokenAuthStrategy(token.value), self._lane().sender
        replies: list[httpx.Response] = []
        try:
            for page in range(1, most + 1):
                params = {"per_page": 100, "page": page}
                reply = await send_with_retries(
                    lambda params=params: sender.send(  # type: ignore[misc]
                        auth, "GET", "/installation/repositories", params=params
                    ),
                    needs="metadata:read",
                    repeatable=True,
                    renewable=True,
                )
                replies.append(reply)
                if "next" not in reply.links:
                    break
        finally:
            await self._revoke([token])
        return replies

    @override
    async def _who(self) -> Identity:
        app = await self.app()
        return Identity(f"{app.slug}[bot]", app.id)

    @override
    async def _mint(self, repository: RepositoryRef, rights: Permissions) -> Token:
        # Only the name is known of a repository that no event named, such as the owner's defaults.
        which = (
            {"repository_ids": [repository.id]}
            if repository.id > 0
            else {"repositories": [repository.name]}
        )
        wanted: dict[str, Any] = {**which, "permissions": dict(rights)}
        try:
            installation = await self._installation(repository)
            try:
                return await self._minted(installation, wanted)
            except NotPermitted as error:
                raise await self._named(installation, rights, error) from error
        except NotFound as error:
            advice = "install the App on this repository"
            raise NotPermitted(
                "the App is not installed there", advice, status=error.status
            ) from error

    async def _minted(self, installation: int, wanted: dict[str, Any]) -> Token:
        # Creating a token twice leaves no trace, so this POST may be repeated.
        path = f"/app/installations/{installation}/access_tokens"
        reply = await self.as_app("POST", path, json=wanted, repeatable=True)
        minted = TokenReply.model_validate_json(reply.content)
        return Token(minted.token, time.monotonic(), life_s(reply, minted))

    @override
    async def _revoke(self, tokens: list[Token]) -> None:
        from githubkit import TokenAuthStrategy

        sender = self._lane().sender

        async def revoke(token: Token) -> None:
            # Tokens expire within the hour anyway, so the wait is short and a refusal is ignored.
            with suppress(GitHubError, SettingsError, TimeoutError):
                async with asyncio.timeout(REVOKE_S):
                    auth = TokenAuthStrategy(token.value)
                    await send_with_retries(
                        lambda: sender.send(auth, "DELETE", "/installation/token"),
                        needs="metadata:read",
                        repeatable=True,
                    )

        await asyncio.gather(*(revoke(token) for token in tokens if token.is_alive))

    async def _installation(self, repository: RepositoryRef) -> int:
        if repository.installation_id is not None:
            return repository.installation_id
        known, key = self._lane().installations, token_key(repository)
        if key not in known:
            reply = await self.as_app("GET", f"{repository_path(repository)}/installation")
            known[key] = InstallationReply.model_validate_json(reply.content).id
        return known[key]

    async def _named(
        self, installation: int, rights: Permissions, error: NotPermitted
    ) -> NotPermitted:
        """Return the same refusal with the permissions that the installation has not granted."""
        # GitHub answers 422 when the installation lacks a requested permission.
        if error.status != httpx.codes.UNPROCESSABLE_ENTITY:
            return error
        reply = await self.as_app("GET", f"/app/installations/{installation}")
        granted = InstallationReply.model_validate_json(reply.content).permissions
        lacking = [
            f"{name}:{level}" for name, level in rights if not covers(granted.get(name), level)
        ]
        named = ", ".join(lacking) or "that was asked for"
        message = f"the installation has not granted {named}"
        return NotPermitted(
            message, f"accept the permission {named} for the App", status=error.status
        )


def life_s(reply: httpx.Response, minted: TokenReply) -> float:
    """Return the usable lifetime of a token in seconds, by GitHub's clock."""
    if minted.expires_at is None:
        return LIFE_S
    try:
        # GitHub's own date makes the result independent of our clock.
        now = parsedate_to_datetime(reply.headers.get("date", ""))
        return min(LIFE_S, (minted.expires_at - now).total_seconds() - YOUNG_S)
    except (ValueError, TypeError):
        return LIFE_S


def covers(granted: Any, wanted: str) -> bool:
    """Return True if a granted level includes a wanted one."""
    return granted in {"write", "admin"} or granted == wanted
