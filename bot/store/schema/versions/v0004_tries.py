"""A mission that is begun anew keeps what its earlier tries took; what runs is found without a look at what ended."""

from alembic import op
from sqlalchemy import Column
from sqlalchemy import text as sql

from bot.store.schema.columns import NUMBER

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Make what is new."""
    op.add_column("work", Column("earlier", NUMBER, nullable=False, server_default="0"))
    runs = sql("ended = 0")
    op.create_index("live_running", "live", ["seq"], sqlite_where=runs, postgresql_where=runs)
