"""Signing in with GitHub: who a person is, and which of our repositories they can read or write."""

import asyncio
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

import httpx
from pydantic import SecretStr

from bot.domain.dashboard import Viewer
from bot.errors import GitHubError
from bot.github.names import web_url
from bot.github.refusals import refusal
from bot.github.sending import TIMEOUT, WHOLE_S, unreachable

INSTALLATIONS, REPOSITORIES = 30, 50
"""Most pages of a person's installations, and of the repositories of one, with 100 entries each."""


class GitHubSignIn:
    """The web flow of the App's OAuth. The person's token is used at once and then forgotten.

    Args:
        api_url: GitHub's API.
        client_id: The App's client id.
        client_secret: The App's client secret.
    """

    def __init__(self, api_url: str, client_id: str, client_secret: SecretStr) -> None:
        self._api_url = api_url if api_url.endswith("/") else f"{api_url}/"
        self._client_id = client_id
        self._client_secret = client_secret

    def address(self, state: str, back: str) -> str:
        """Return GitHub's address to send a person to.

        Args:
            state: A value that comes back, to recognize the person's browser.
            back: Our address, to which GitHub sends the person back.
        """
        query = {"client_id": self._client_id, "state": state, "redirect_uri": back}
        return f"{web_url(self._api_url)}/login/oauth/authorize?{urlencode(query)}"

    async def viewer(self, code: str, back: str) -> Viewer:
        """Exchange GitHub's code, and return the person with their repositories.

        Raises:
            GitHubError: the code is invalid, or GitHub failed.
        """
        try:
            async with (
                asyncio.timeout(WHOLE_S),
                httpx.AsyncClient(timeout=TIMEOUT, trust_env=True) as http,
            ):
                token = await self._exchange(http, code, back)
                return await self._viewer(http, token)
        except (httpx.HTTPError, TimeoutError) as error:
            found = error if isinstance(error, httpx.HTTPError) else httpx.ReadTimeout("slow")
            raise unreachable(found) from error

    async def _exchange(self, http: httpx.AsyncClient, code: str, back: str) -> str:
        reply = await http.post(
            f"{web_url(self._api_url)}/login/oauth/access_token",
            data={
                "client_id": self._client_id,
                "client_secret": self._client_secret.get_secret_value(),
                "code": code,
                "redirect_uri": back,
            },
            headers={"accept": "application/json"},
        )
        content = _json(reply)
        token = content.get("access_token")
        if not isinstance(token, str) or not token:
            # GitHub answers 200 with an error in the body.
            raise GitHubError("GitHub did not accept the sign-in", "try again")
        return token

    async def _viewer(self, http: httpx.AsyncClient, token: str) -> Viewer:
        user = _json(await self._get(http, token, "user"))
        readable, writable = set(), set()
        for installation in await self._pages(
            http, token, "user/installations", key="installations", most=INSTALLATIONS
        ):
            where = f"user/installations/{int(installation['id'])}/repositories"
            for one in await self._pages(http, token, where, key="repositories", most=REPOSITORIES):
                rights = one.get("permissions") or {}
                if rights.get("pull"):
                    readable.add(int(one["id"]))
                if rights.get("push"):
                    writable.add(int(one["id"]))
        return Viewer(
            login=str(user["login"]),
            readable=frozenset(readable),
            writable=frozenset(writable & readable),
        )

    async def _pages(
        self, http: httpx.AsyncClient, token: str, path: str, *, key: str, most: int
    ) -> list[Mapping[str, Any]]:
        found: list[Mapping[str, Any]] = []
        for number in range(1, most + 1):
            reply = await self._get(http, token, path, {"per_page": 100, "page": number})
            found += _json(reply)[key]
            if "next" not in reply.links:
                break
        return found

    async def _get(
        self,
        http: httpx.AsyncClient,
        token: str,
        path: str,
        params: Mapping[str, int] | None = None,
    ) -> httpx.Response:
        headers = {"authorization": f"Bearer {token}", "accept": "application/vnd.github+json"}
        reply = await http.get(f"{self._api_url}{path}", params=params, headers=headers)
        if reply.is_error:
            raise refusal(reply, "metadata:read")
        return reply


def _json(reply: httpx.Response) -> Any:
    if reply.is_error:
        raise refusal(reply, "metadata:read")
    try:
        content = reply.json()
    except ValueError as error:
        raise GitHubError("GitHub's answer cannot be read", "try again") from error
    if not isinstance(content, dict):
        raise GitHubError("GitHub's answer has an unknown form", "try again")
    return content
