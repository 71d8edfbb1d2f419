"""The first tables, which earlier releases created in four SQLite files without migrations."""

from alembic import op
from sqlalchemy import CheckConstraint, Column, PrimaryKeyConstraint
from sqlalchemy import text as sql

from bot.store.schema.columns import NUMBER, TEXT, WHOLE, number, text, whole

revision = "0001"
down_revision = None

STATES = "state IN ('waiting', 'submitted', 'ignored', 'duplicate')"


def upgrade() -> None:
    """Create them."""
    _missions()
    _decisions()
    _inbox()
    _ledger()
    _lessons()
    op.create_table("taken_over", Column("mark", TEXT, primary_key=True), sqlite_strict=True)


def _missions() -> None:
    op.create_table(
        "live",
        number(),
        Column("id", TEXT, nullable=False, unique=True),
        whole("repository"),
        Column("branch", TEXT),
        Column("pull_request", WHOLE),
        text("since"),
        whole("ended"),
        text("value"),
        sqlite_strict=True,
    )
    op.create_index("live_by_repository", "live", ["repository"])
    op.create_table(
        "attempt",
        whole("repository"),
        text("branch"),
        text("mission"),
        PrimaryKeyConstraint("repository", "branch", "mission"),
        sqlite_strict=True,
    )
    op.create_table(
        "fix",
        number(),
        Column("id", TEXT, nullable=False, unique=True),
        whole("repository"),
        text("fingerprint"),
        text("patch"),
        text("state"),
        Column("pull_request", WHOLE),
        text("at"),
        text("value"),
        sqlite_strict=True,
    )
    op.create_index("fix_by_repository", "fix", ["repository", "fingerprint"])
    op.create_index("fix_by_patch", "fix", ["repository", "patch"])


def _decisions() -> None:
    op.create_table(
        "proposal",
        number(),
        text("id"),
        whole("repository"),
        Column("pull_request", WHOLE),
        text("decided"),
        text("at"),
        text("value"),
        sqlite_strict=True,
    )
    op.create_index("proposal_by_id", "proposal", ["repository", "id"], unique=True)
    op.create_table(
        "switch",
        whole("repository"),
        whole("pull_request"),
        text("value"),
        PrimaryKeyConstraint("repository", "pull_request"),
        sqlite_strict=True,
    )
    op.create_table(
        "installation",
        Column("id", WHOLE, primary_key=True, autoincrement=False),
        text("value"),
        sqlite_strict=True,
    )


def _inbox() -> None:
    op.create_table(
        "delivery",
        number(),
        Column("id", TEXT, nullable=False, unique=True),
        text("event"),
        Column("action", TEXT),
        text("received_at"),
        text("state"),
        text("reason", ""),
        Column("mission_id", TEXT),
        Column("work", TEXT),
        whole("times", 1),
        CheckConstraint(STATES, name="delivery_state"),
        sqlite_strict=True,
    )
    known = sql("mission_id IS NOT NULL")
    op.create_index(
        "delivery_by_mission",
        "delivery",
        ["mission_id"],
        sqlite_where=known,
        postgresql_where=known,
    )
    op.create_index("delivery_by_state", "delivery", ["state", "received_at"])


def _ledger() -> None:
    op.create_table(
        "call",
        Column("id", WHOLE, primary_key=True, autoincrement=True),
        text("mission"),
        text("key"),
        text("repository"),
        text("pull_request"),
        text("installation"),
        text("day"),
        text("stage"),
        text("model"),
        Column("trouble", TEXT),
        whole("attempts", 0),
        Column("counted", NUMBER, nullable=False),
        Column("cost", NUMBER),
        whole("open", 1),
        whole("input_tokens", 0),
        whole("output_tokens", 0),
        whole("cache_read_tokens", 0),
        whole("cache_write_tokens", 0),
        whole("reasoning_tokens", 0),
        Column("answer", TEXT),
        sqlite_strict=True,
    )
    op.create_index("call_by_mission", "call", ["mission", "key"])
    op.create_index("call_by_pull_request", "call", ["repository", "pull_request"])
    op.create_index("call_by_day", "call", ["day", "repository"])
    kept = sql("answer IS NOT NULL")
    op.create_index("call_with_answer", "call", ["day"], sqlite_where=kept, postgresql_where=kept)


def _lessons() -> None:
    op.create_table(
        "lesson",
        Column("id", TEXT, primary_key=True),
        text("repository"),
        text("fingerprint"),
        Column("error", TEXT),
        Column("pull_request", WHOLE),
        text("created_at"),
        text("value"),
        sqlite_strict=True,
    )
    op.create_index("lesson_by_fingerprint", "lesson", ["repository", "fingerprint"])
    op.create_index("lesson_by_error", "lesson", ["repository", "error"])
    op.create_index("lesson_by_pull_request", "lesson", ["repository", "pull_request"])
    # Written alike; queried with `MATCH` on SQLite, `to_tsvector('english', words) @@ …` on
    # PostgreSQL.
    if op.get_bind().dialect.name == "sqlite":
        op.execute(
            "CREATE VIRTUAL TABLE lesson_words"
            " USING fts5 (id UNINDEXED, words, tokenize = 'porter unicode61')"
        )
    else:
        op.create_table("lesson_words", Column("id", TEXT, primary_key=True), text("words"))
        op.execute(
            "CREATE INDEX lesson_words_found"
            " ON lesson_words USING gin (to_tsvector('english', words))"
        )
