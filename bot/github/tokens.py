"""Which right a call needs, and the tokens that carry just those rights; in memory only."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from types import MappingProxyType

from bot.domain.request import RepositoryRef

Permissions = tuple[tuple[str, str], ...]
Key = int | str

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

COMMIT: Permissions = (("contents", "write"),)
"""Branches and commits."""

TALK: Permissions = (("contents", "read"), ("pull_requests", "write"))
"""Pull requests, comments, reviews, labels; what is never allowed to change code."""

RERUN: Permissions = (("actions", "write"),)
"""Running a workflow again; many do not grant it."""

STATUSES: Permissions = (("statuses", "read"),)
"""Commit statuses, which only older CI uses; apart, because many do not grant it."""

METADATA: Permissions = (("metadata", "read"),)
"""Which repositories there are."""

_WRITING = MappingProxyType(
    {"checks:write": CHECKS, "contents:write": COMMIT, "actions:write": RERUN, "pull_requests:write": TALK}
)

YOUNG_S = 60.0
"""GitHub needs some seconds until every server knows a new token."""

LIFE_S = 3_000.0
"""Tokens live an hour; one that is used for a push must not die under it."""


def key_of(repository: RepositoryRef) -> Key:
    """By what a repository's tokens are known here: names change, but some repositories have only a name."""
    return repository.id if repository.id > 0 else repository.full_name.lower()


def rights_for(needs: str) -> Permissions:
    """The narrowest of our sets that holds a permission such as `checks:write`."""
    if needs == "statuses:read":
        return STATUSES
    return READ if needs.endswith(":read") else _WRITING[needs]


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

    _tokens: dict[tuple[Key, Permissions], Token] = field(default_factory=dict)
    _locks: dict[tuple[Key, Permissions], asyncio.Lock] = field(default_factory=dict)

    async def get(self, repository: Key, rights: Permissions, mint: Callable[[], Awaitable[Token]]) -> Token:
        """The token, made when there is none that lives."""
        key = (repository, rights)
        async with self._locks.setdefault(key, asyncio.Lock()):
            token = self._tokens.get(key)
            if token is None or not token.is_alive:
                token = await mint()
                self._tokens[key] = token
            return token

    def take(self, repository: Key | None = None) -> list[Token]:
        """The tokens of one repository, or all, which are forgotten here."""
        keys = [key for key in self._tokens if repository in {None, key[0]}]
        return [self._tokens.pop(key) for key in keys]

    def drop(self, repository: Key, rights: Permissions, token: Token) -> None:
        """Forget a token that GitHub does not know any more."""
        if self._tokens.get((repository, rights)) is token:
            del self._tokens[repository, rights]
