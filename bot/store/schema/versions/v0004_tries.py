"""Time used by earlier tries of a restarted mission, and an index of active missions."""

from alembic import op
from sqlalchemy import Column
from sqlalchemy import text as sql

from bot.store.schema.columns import NUMBER

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Add a column and an index."""
    op.add_column("work", Column("earlier", NUMBER, nullable=False, server_default="0"))
    runs = sql("ended = 0")
    op.create_index("live_running", "live", ["seq"], sqlite_where=runs, postgresql_where=runs)
