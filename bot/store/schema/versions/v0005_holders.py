"""A mission's holder, whether its last try has begun, and a token for each reservation."""

from alembic import op
from sqlalchemy import Column

from bot.store.schema.columns import TEXT, text, whole

revision = "0005"
down_revision = "0004"

ENDED = "NOT EXISTS (SELECT 1 FROM live WHERE live.id = work.mission AND live.ended = 0)"


def upgrade() -> None:
    """Add columns; `begun` defaults to 1 for processes of the previous version."""
    op.add_column("work", whole("begun", 1))
    op.execute(f"UPDATE work SET begun = 0 WHERE {ENDED}")  # noqa: S608 (a literal above)
    op.add_column("work", text("holder", ""))
    op.add_column("call", Column("token", TEXT))
    op.create_index("call_by_token", "call", ["token"], unique=True)
