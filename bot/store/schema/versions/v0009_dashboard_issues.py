"""Dashboard issues, so that an unchanged one costs no request to GitHub."""

from alembic import op
from sqlalchemy import Column

from bot.store.schema.columns import WHOLE, text

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Create the table; the issues of earlier versions are found on GitHub."""
    op.create_table(
        "dashboard_issue",
        Column("repository", WHOLE, primary_key=True, autoincrement=False),
        text("value"),
        sqlite_strict=True,
    )
