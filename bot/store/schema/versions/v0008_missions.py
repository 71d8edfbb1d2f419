"""Missions with their stages, details and totals; the audit log; sessions of the dashboard."""

from alembic import op
from sqlalchemy import Column

from bot.store.schema.columns import NUMBER, TEXT, WHOLE, number, text, whole

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Create the tables; missions of earlier versions are in none."""
    _missions()
    op.create_table(
        "mission_detail", Column("id", TEXT, primary_key=True), text("value"), sqlite_strict=True
    )
    op.create_table(
        "mission_stage",
        number(),
        text("mission"),
        text("name"),
        text("at"),
        text("detail", ""),
        sqlite_strict=True,
    )
    op.create_index("mission_stage_by_mission", "mission_stage", ["mission", "seq"])
    op.create_table(
        "mission_total",
        Column("outcome", TEXT, primary_key=True),
        whole("missions", 0),
        Column("seconds", NUMBER, nullable=False, server_default="0"),
        Column("cost_usd", NUMBER, nullable=False, server_default="0"),
        sqlite_strict=True,
    )
    op.create_table(
        "audit",
        number(),
        text("at"),
        text("actor"),
        text("action"),
        Column("repository", WHOLE),
        text("place", ""),
        text("mission", ""),
        text("subject", ""),
        text("result", ""),
        sqlite_strict=True,
    )
    op.create_index("audit_by_time", "audit", ["at"])
    op.create_table(
        "session",
        Column("id", TEXT, primary_key=True),
        text("viewer"),
        text("expires_at"),
        sqlite_strict=True,
    )


def _missions() -> None:
    op.create_table(
        "mission",
        number(),
        Column("mission_id", TEXT, nullable=False, unique=True),
        Column("repository", WHOLE),
        text("place"),
        text("trigger_name"),
        Column("requested_by", TEXT),
        text("check_name", ""),
        Column("branch", TEXT),
        Column("head_sha", TEXT),
        Column("for_pull_request", WHOLE),
        text("state"),
        Column("outcome", TEXT),
        text("reason", ""),
        text("title", ""),
        text("kind", ""),
        text("fingerprint", ""),
        text("queued_at"),
        text("began_at", ""),
        text("ended_at", ""),
        Column("seconds", NUMBER, nullable=False, server_default="0"),
        Column("cost_usd", NUMBER),
        Column("rung", WHOLE),
        text("template", ""),
        Column("confidence", NUMBER),
        text("way", ""),
        Column("pull_request", WHOLE),
        text("fate", ""),
        whole("tries", 1),
        text("stop_by", ""),
        sqlite_strict=True,
    )
    op.create_index("mission_by_repository", "mission", ["repository", "seq"])
    op.create_index("mission_by_outcome", "mission", ["outcome", "seq"])
    op.create_index("mission_by_state", "mission", ["state", "seq"])
    op.create_index("mission_by_end", "mission", ["ended_at"])
