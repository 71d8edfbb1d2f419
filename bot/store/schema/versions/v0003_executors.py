"""Executors' heartbeats on PostgreSQL, until then in a table of the engine; SQLite has none."""

from alembic import op
from sqlalchemy import TIMESTAMP, Column

from bot.store.schema.columns import TEXT

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Create the table; live executors fill it within seconds."""
    if op.get_bind().dialect.name == "sqlite":
        return
    op.create_table(
        "executor",
        Column("id", TEXT, primary_key=True),
        Column("beat", TIMESTAMP(timezone=True), nullable=False),
    )
    op.execute("DROP TABLE IF EXISTS public.metaagent_executor")
