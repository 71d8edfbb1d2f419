"""Permission sets of calls, and the tokens with exactly these permissions; in memory only."""

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
"""The reads of admission and triage."""

CLONE: Permissions = (("contents", "read"),)
"""Fetching code; the only token that leaves this process, in one header."""

CHECKS: Permissions = (("checks", "write"),)
"""Our own check run."""

COMMIT: Permissions = (("contents", "write"),)
"""Branches and commits."""

TALK: Permissions = (("contents", "read"), ("pull_requests", "write"))
"""Pull requests, comments, reviews and labels, without the right to change code."""

RERUN: Permissions = (("actions", "write"),)
"""Rerunning a workflow; many installations do not grant it."""

STATUSES: Permissions = (("statuses", "read"),)
"""Commit statuses, used by older CI systems only; separate, because many do not grant it."""

ISSUES_READ: Permissions = (("issues", "read"),)
"""Our dashboard issue, and comments in issues."""

ISSUES: Permissions = (("issues", "write"),)
"""The same for writing; separate, because many do not grant it."""

METADATA: Permissions = (("metadata", "read"),)
"""The list of repositories."""

_WRITING = MappingProxyType(
    {
        "checks:write": CHECKS,
        "contents:write": COMMIT,
        "actions:write": RERUN,
        "pull_requests:write": TALK,
        "issues:write": ISSUES,
    }
)
_READING = MappingProxyType({"statuses:read": STATUSES, "issues:read": ISSUES_READ})
"""Reads that most steps do not need."""

YOUNG_S = 60.0
"""Age in seconds below which GitHub's servers may not know a token yet."""

LIFE_S = 3_000.0
"""Lifetime that we use, in seconds. Tokens live an hour; one must not expire during a push."""


def token_key(repository: RepositoryRef) -> Key:
    """Return the key for a repository's tokens: its id, or its name if only that is known."""
    return repository.id if repository.id > 0 else repository.full_name.lower()


def rights_for(needs: str) -> Permissions:
    """Return the narrowest permission set that includes a permission such as `checks:write`."""
    if needs.endswith(":read"):
        return _READING.get(needs, READ)
    return _WRITING[needs]


@dataclass(frozen=True)
class Token:
    """An installation token."""

    value: str = field(repr=False)
    minted: float
    """Creation time on the monotonic clock."""
    life_s: float = LIFE_S

    @property
    def is_young(self) -> bool:
        """Return True if a 401 may only mean that the token is new."""
        return time.monotonic() - self.minted < YOUNG_S

    @property
    def is_alive(self) -> bool:
        """Return True if the token is still usable."""
        return time.monotonic() - self.minted < self.life_s


@dataclass
class TokenStore:
    """Tokens by repository and rights; concurrent first uses create only one."""

    _tokens: dict[tuple[Key, Permissions], Token] = field(default_factory=dict)
    _locks: dict[tuple[Key, Permissions], asyncio.Lock] = field(default_factory=dict)

    async def get(
        self, repository: Key, rights: Permissions, mint: Callable[[], Awaitable[Token]]
    ) -> Token:
        """Return the token, creating it if none is alive."""
        key = (repository, rights)
        # The lock lets concurrent first uses share one token.
        async with self._locks.setdefault(key, asyncio.Lock()):
            token = self._tokens.get(key)
            if token is None or not token.is_alive:
                token = await mint()
                self._tokens[key] = token
            return token

    def take(self, repository: Key | None = None) -> list[Token]:
        """Remove and return the tokens of one repository, or all."""
        keys = [key for key in self._tokens if repository in {None, key[0]}]
        return [self._tokens.pop(key) for key in keys]

    def drop(self, repository: Key, rights: Permissions, token: Token) -> None:
        """Remove a token that GitHub rejected."""
        if self._tokens.get((repository, rights)) is token:
            del self._tokens[repository, rights]
