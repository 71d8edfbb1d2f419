"""Who of the executors lives: a table that the engine made by itself before; SQLite has one executor and no table."""

from alembic import op
from sqlalchemy import TIMESTAMP, Column

from bot.store.schema.columns import TEXT

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Make it among ours; who lives says so again within seconds."""
    if op.get_bind().dialect.name == "sqlite":
        return
    op.create_table(
        "executor",
        Column("id", TEXT, primary_key=True),
        Column("beat", TIMESTAMP(timezone=True), nullable=False),
    )
    op.execute("DROP TABLE IF EXISTS public.metaagent_executor")
