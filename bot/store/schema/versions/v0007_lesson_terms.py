"""Words of lessons by repository, so that recall reads no other repository's rows."""

from alembic import op

from bot.store.schema.columns import text

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Add a table; words of earlier lessons are added when their repository gets a new one."""
    op.create_table(
        "lesson_term",
        text("repository"),
        text("word"),
        text("lesson"),
        sqlite_strict=True,
    )
    op.create_index(
        "lesson_term_by_word", "lesson_term", ["repository", "word", "lesson"], unique=True
    )
    op.create_index("lesson_term_by_lesson", "lesson_term", ["lesson"])
