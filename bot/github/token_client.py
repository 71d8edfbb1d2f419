"""A GitHub client for one given token: a workflow's own, or a person's."""

import time

from pydantic import SecretStr
from typing_extensions import override

from bot.domain.request import RepositoryRef
from bot.errors import NotPermitted
from bot.github.app_replies import AppReply, UserReply
from bot.github.client import WRITE_PAUSE_S, GitHubClient, Identity
from bot.github.sending import send_with_retries
from bot.github.tokens import YOUNG_S, Permissions, Token

ACTIONS_SLUG = "github-actions"
"""The slug of the App behind a workflow's own token."""


class TokenClient(GitHubClient):
    """Calls GitHub with one given token, which is never revoked here.

    Args:
        token: `GITHUB_TOKEN`, or a personal access token.
        api_url: `https://api.github.com/`, or `https://HOST/api/v3/`.
        write_pause_s: Seconds between two writes to one repository.
    """

    renewable = False

    def __init__(
        self, token: SecretStr, api_url: str, write_pause_s: float = WRITE_PAUSE_S
    ) -> None:
        super().__init__(api_url, write_pause_s)
        self._value = token

    @override
    async def _who(self) -> Identity:
        from githubkit import TokenAuthStrategy

        auth, sender = TokenAuthStrategy(self._value.get_secret_value()), self._lane().sender

        async def ask(path: str) -> bytes:
            reply = await send_with_retries(
                lambda: sender.send(auth, "GET", path), needs="metadata:read", repeatable=True
            )
            return reply.content

        try:
            return Identity(UserReply.model_validate_json(await ask("/user")).login)
        except NotPermitted as error:
            if error.status != 403:  # noqa: PLR2004 - the status for an App's token
                raise
        app = AppReply.model_validate_json(await ask(f"/apps/{ACTIONS_SLUG}"))
        return Identity(f"{ACTIONS_SLUG}[bot]", app.id)

    @override
    async def _mint(self, repository: RepositoryRef, rights: Permissions) -> Token:
        # Not young: a 401 means that the given token is invalid, not that it is new.
        return Token(self._value.get_secret_value(), time.monotonic() - YOUNG_S)

    @override
    async def _revoke(self, tokens: list[Token]) -> None:
        """Do nothing: the token ends with the workflow, or is revoked by its owner."""
