"""Limits of tokens, time and missions besides money, and pauses that an operator sets."""

from alembic import op
from sqlalchemy import Column

from bot.store.schema.columns import NUMBER, TEXT, text, whole

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add columns and tables."""
    op.add_column("call", whole("counted_tokens", 0))
    op.execute("UPDATE call SET counted_tokens = input_tokens + output_tokens")
    op.create_index("call_by_installation", "call", ["installation", "day"])
    op.create_table(
        "work",
        Column("mission", TEXT, primary_key=True),
        text("repository"),
        text("pull_request"),
        text("installation"),
        text("day"),
        Column("seconds", NUMBER, nullable=False, server_default="0"),
        Column("set_aside", NUMBER, nullable=False, server_default="0"),
        sqlite_strict=True,
    )
    op.create_index("work_by_pull_request", "work", ["repository", "pull_request"])
    op.create_index("work_by_day", "work", ["day", "repository"])
    op.create_index("work_by_installation", "work", ["installation", "day"])
    op.create_table(
        "pause",
        Column("place", TEXT, primary_key=True),
        whole("now"),
        text("why"),
        text("at"),
        sqlite_strict=True,
    )
