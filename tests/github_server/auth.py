"""Who is calling: App JWTs, installation tokens, people's tokens; and what each may do."""

import base64
import binascii
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import jwt

from tests.github_server.entities import (
    ACTIONS_APP_ID,
    ACTIONS_BOT,
    App,
    Installation,
    Repository,
    Token,
)
from tests.github_server.errors import ApiError, forbidden, not_found
from tests.github_server.gitstore import utc
from tests.github_server.keys import public_key
from tests.github_server.world import World

LEVELS = {"none": 0, "read": 1, "write": 2, "admin": 3}
OPEN_TO_READERS = ("/issues", "/pulls", "/reactions", "/labels")


@dataclass(frozen=True, slots=True)
class Actor:
    """The caller: nobody, the App itself, an installation, or a person."""

    kind: str
    login: str = ""
    token: Token | None = None
    installation: Installation | None = None

    @property
    def app(self) -> int | None:
        """The App behind a token that is not ours: GitHub Actions, for a job's GITHUB_TOKEN."""
        return self.token.app if self.token else None

    def may(self, permission: str, level: str) -> bool:
        """Whether an installation token carries a permission."""
        held = self.token.permissions.get(permission, "none") if self.token else "none"
        return LEVELS[held] >= LEVELS[level]


def mint(
    world: World, installation: Installation, permissions: dict[str, str], ids: set[int] | None
) -> Token:
    """An installation token in the long, stateless-looking form."""
    value = f"ghs_{world.app.id}_{secrets.token_urlsafe(60)}"
    expires = utc(datetime.now(UTC) + timedelta(hours=1))
    token = Token(value, world.app.bot, installation.id, permissions, ids, expires)
    world.tokens[value] = token
    return token


def job_token(world: World, repo: Repository, permissions: dict[str, str]) -> Token:
    """A job's GITHUB_TOKEN: of the App GitHub Actions, for one repository."""
    value = f"ghs_{ACTIONS_APP_ID}_{secrets.token_urlsafe(60)}"
    expires = utc(datetime.now(UTC) + timedelta(hours=24))
    token = Token(
        value,
        ACTIONS_BOT,
        None,
        {**permissions, "metadata": "read"},
        {repo.id},
        expires,
        ACTIONS_APP_ID,
    )
    world.tokens[value] = token
    return token


def token_for(world: World, login: str) -> str:
    """A person's token."""
    world.user(login)
    token = Token(f"ghp_{secrets.token_hex(18)}", login)
    world.tokens[token.value] = token
    return token.value


def identify(world: World, header: str | None) -> Actor:
    """The caller behind an Authorization header.

    Raises:
        ApiError: 401 or 403, the credential is not good (any more).
    """
    if not header:
        return Actor("anonymous")
    scheme, _, value = header.partition(" ")
    value = value.strip()
    if scheme.lower() == "basic":
        value = _basic(value)
    if value.count(".") == 2 and not value.startswith("gh"):
        _check_jwt(world, value)
        return Actor("app", world.app.bot)
    token = world.tokens.get(value)
    if token is None or (token.expires_at and token.expires_at <= world.now()):
        raise ApiError(401, "Bad credentials")
    if token.app is not None:
        return Actor("installation", token.login, token)
    if token.installation is None:
        return Actor("user", token.login, token)
    token.uses += 1
    if token.uses <= world.faults.fresh_token_failures:
        raise ApiError(401, "Bad credentials")
    installation = world.installations[token.installation]
    if installation.suspended_at:
        raise ApiError(403, "This installation has been suspended")
    return Actor("installation", token.login, token, installation)


def _basic(value: str) -> str:
    """The password of a Basic header: git sends the token there."""
    try:
        return base64.b64decode(value, validate=True).decode().partition(":")[2]
    except (binascii.Error, UnicodeDecodeError) as error:
        raise ApiError(401, "Bad credentials") from error


def _check_jwt(world: World, value: str) -> None:
    """GitHub's rules for an App's JWT."""
    options: Any = {
        "verify_exp": False,
        "verify_iat": False,
        "verify_nbf": False,
        "verify_sub": False,
    }
    try:
        claims = jwt.decode(
            value, public_key(world.private_key_pem), algorithms=["RS256"], options=options
        )
    except jwt.InvalidTokenError as error:
        raise ApiError(401, "A JSON web token could not be decoded") from error
    now = datetime.now(UTC).timestamp()
    issued, expires = claims.get("iat"), claims.get("exp")
    if not isinstance(issued, int) or issued > now + 60:
        text = "must be an Integer representing the time that the assertion was issued"
        raise ApiError(401, f"'Issued at' claim ('iat') {text}")
    if not isinstance(expires, int) or expires <= now:
        text = "must be a numeric value representing the future time at which the assertion expires"
        raise ApiError(401, f"'Expiration time' claim ('exp') {text}")
    if expires > now + 600:
        raise ApiError(401, "'Expiration time' claim ('exp') is too far in the future")
    _check_issuer(world.app, claims.get("iss"))


def _check_issuer(app: App, issuer: object) -> None:
    """The issuer is the App's id or its client id."""
    if str(issuer) not in {str(app.id), app.client_id}:
        raise ApiError(404, "Integration not found")


def authorize(
    world: World, actor: Actor, needed: str, repo: Repository | None, template: str
) -> None:
    """Let a request through, or answer as GitHub does.

    Args:
        world: all state.
        actor: the caller.
        needed: `jwt`, `none`, `any`, `token`, `user`, or `contents:read or pull_requests:read`.
        repo: the repository in the path.
        template: GitHub's path template.
    """
    if needed == "jwt":
        if actor.kind != "app":
            raise ApiError(401, "A JSON web token could not be decoded")
    elif needed == "token":
        if actor.kind != "installation":
            raise ApiError(401, "Requires authentication")
    elif needed == "user":
        if actor.kind != "user":
            raise (
                ApiError(401, "Requires authentication")
                if actor.kind == "anonymous"
                else forbidden()
            )
    elif needed not in {"none", "any"}:
        _authorize_scoped(world, actor, needed, repo, template)


def _authorize_scoped(
    world: World, actor: Actor, needed: str, repo: Repository | None, template: str
) -> None:
    """A route that needs a permission."""
    pairs = [pair.split(":") for pair in needed.split(" or ")]
    if actor.kind == "app":
        raise forbidden(needed)
    if actor.kind == "installation":
        # Any token reads the code of a public repository.
        if repo is not None and not repo.private and pairs == [["contents", "read"]]:
            return
        if repo is not None and not covers(world, actor, repo):
            raise not_found() if repo.private else forbidden(needed)
        if not any(actor.may(name, level) for name, level in pairs):
            raise forbidden(needed)
        return
    if repo is None:
        raise ApiError(401, "Requires authentication")
    _authorize_person(world, actor, needed, repo, template)


def _authorize_person(
    world: World, actor: Actor, needed: str, repo: Repository, template: str
) -> None:
    """A route that needs a permission, called by a person or nobody."""
    level = (
        world.permission(repo, actor.login)
        if actor.kind == "user"
        else ("none" if repo.private else "read")
    )
    if level == "none":
        raise not_found()
    if ":write" not in needed:
        return
    if actor.kind == "anonymous":
        raise ApiError(401, "Requires authentication")
    if needed.startswith("checks:"):
        raise ApiError(403, "You must authenticate via a GitHub App.")
    if LEVELS[level] < LEVELS["write"] and not any(part in template for part in OPEN_TO_READERS):
        raise ApiError(403, "Must have write access to Repository.")


def covers(world: World, actor: Actor, repo: Repository) -> bool:
    """Whether an installation token reaches a repository."""
    installation = world.installation_of(repo)
    token = actor.token
    if token is not None and token.app is not None:
        return repo.id in (token.repository_ids or ())
    if token is None or installation is None or installation is not actor.installation:
        return False
    return token.repository_ids is None or repo.id in token.repository_ids
