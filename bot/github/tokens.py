"""Which right a call needs, and the tokens that carry just those rights; in memory only."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

Permissions = tuple[tuple[str, str], ...]

READ: Permissions = (
    ("actions", "read"),
    ("checks", "read"),
    ("contents", "read"),
    ("metadata", "read"),
    ("pull_requests", "read"),
)
"""Everything admission and triage look at."""

CLONE: Permissions = (("contents", "read"),)
"""Fetching the code; the only token that leaves this process, in one header."""

CHECKS: Permissions = (("checks", "write"),)
"""Our own check run."""

PUBLISH: Permissions = (("contents", "write"), ("pull_requests", "write"))
"""Branch, pull request, comments."""

YOUNG_S = 60.0
"""GitHub needs some seconds until every server knows a new token."""

LIFE_S = 3_000.0
"""Tokens live an hour; one that is used for a push must not die under it."""


def rights_for(needs: str) -> Permissions:
    """The narrowest of our sets that holds a permission such as `checks:write`."""
    if needs.endswith(":read"):
        return READ
    return CHECKS if needs == "checks:write" else PUBLISH


@dataclass(frozen=True)
class Token:
    """An installation token."""

    value: str = field(repr=False)
    minted: float
    """On the monotonic clock."""
    life_s: float = LIFE_S

    @property
    def is_young(self) -> bool:
        """Whether a 401 may only mean that it is new."""
        return time.monotonic() - self.minted < YOUNG_S

    @property
    def is_alive(self) -> bool:
        """Whether it may still be used."""
        return time.monotonic() - self.minted < self.life_s


@dataclass
class TokenStore:
    """Tokens by repository and rights; parallel first uses make one token, not many."""

    _tokens: dict[tuple[int, Permissions], Token] = field(default_factory=dict)
    _locks: dict[tuple[int, Permissions], asyncio.Lock] = field(default_factory=dict)

    async def get(self, repository_id: int, rights: Permissions, mint: Callable[[], Awaitable[Token]]) -> Token:
        """The token, made when there is none that lives."""
        key = (repository_id, rights)
        async with self._locks.setdefault(key, asyncio.Lock()):
            token = self._tokens.get(key)
            if token is None or not token.is_alive:
                token = await mint()
                self._tokens[key] = token
            return token

    def drop(self, repository_id: int, rights: Permissions, token: Token) -> None:
        """Forget a token that GitHub does not know any more."""
        if self._tokens.get((repository_id, rights)) is token:
            del self._tokens[repository_id, rights]
