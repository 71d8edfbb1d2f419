"""Digests of deliveries' bodies, to recognize a body that is sent again under another id."""

from alembic import op
from sqlalchemy import Column
from sqlalchemy import text as sql

from bot.store.schema.columns import TEXT

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Add a column and an index; earlier deliveries have no fingerprint."""
    op.add_column("delivery", Column("fingerprint", TEXT))
    known = sql("fingerprint IS NOT NULL")
    op.create_index(
        "delivery_by_fingerprint",
        "delivery",
        ["fingerprint"],
        sqlite_where=known,
        postgresql_where=known,
    )
