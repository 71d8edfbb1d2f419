"""Sessions of people who signed in, in our database, so that every process knows them."""

import hashlib
import re
import secrets
from datetime import timedelta

from pydantic import ValidationError

from bot.domain.dashboard import Viewer
from bot.ports import Clock
from bot.store.database import Database, Transaction
from sandbox.types import Frozen

_SECRET_BYTES = 32
_SECRET = re.compile(r"[A-Za-z0-9_-]{43}")
"""A secret of that many bytes as text."""
_READ = "SELECT viewer FROM session WHERE id = :id AND expires_at > :now"
_INSERT = "INSERT INTO session (id, viewer, expires_at) VALUES (:id, :viewer, :expires_at)"


class Session(Frozen):
    """A signed-in person's session."""

    viewer: Viewer
    form_token: str
    """Proves that a form was rendered for this session."""


class Sessions:
    """Sessions by the secret in a person's cookie, of which only a hash is stored.

    Every method may raise a StoreError.

    Args:
        database: The database of our own tables.
        clock: The clock.
        hours: Lifetime of a session, in hours.
    """

    def __init__(self, database: Database, clock: Clock, hours: int) -> None:
        self._database = database
        self._clock = clock
        self._life = timedelta(hours=hours)

    async def start(self, viewer: Viewer) -> str:
        """Start a session and return its secret; delete expired ones."""
        secret, now = secrets.token_urlsafe(_SECRET_BYTES), self._clock.now()
        row = {
            "id": _hash(secret),
            "viewer": viewer.model_dump_json(),
            "expires_at": (now + self._life).isoformat(),
        }
        expired = "DELETE FROM session WHERE expires_at <= :now"

        def insert(tx: Transaction) -> None:
            tx.change(expired, {"now": now.isoformat()})
            tx.execute(_INSERT, row)

        await self._database.do(insert)
        return secret

    async def find(self, secret: str | None) -> Session | None:
        """Return the session of a secret, or None if there is none or it has expired.

        A cookie that no session of ours can have costs no query.
        """
        if not secret or _SECRET.fullmatch(secret) is None:
            return None
        asked = {"id": _hash(secret), "now": self._clock.now().isoformat()}
        rows = await self._database.do(lambda tx: tx.execute(_READ, asked))
        try:
            viewer = Viewer.model_validate_json(rows[0][0]) if rows else None
        except ValidationError:  # of another version
            return None
        return Session(viewer=viewer, form_token=_form_token(secret)) if viewer else None

    async def end(self, secret: str | None) -> None:
        """End a session."""
        gone = {"id": _hash(secret or "")}
        await self._database.do(lambda tx: tx.change("DELETE FROM session WHERE id = :id", gone))


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()


def _form_token(secret: str) -> str:
    """Return a value that only the session's own pages contain."""
    return hashlib.sha256(f"form:{secret}".encode("utf-8", "surrogateescape")).hexdigest()
