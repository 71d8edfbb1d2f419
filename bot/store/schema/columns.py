"""Column types of the migrations, alike in SQLite's strict tables and PostgreSQL."""

from typing import Any

from sqlalchemy import BigInteger, Column, Double, Integer, Text
from sqlalchemy.types import REAL, TypeEngine

WHOLE = BigInteger().with_variant(Integer(), "sqlite")
"""A 64-bit integer; booleans are 1 and 0."""
NUMBER: TypeEngine[Any] = Double().with_variant(REAL(), "sqlite")
"""A 64-bit float."""
TEXT = Text().with_variant(Text(collation="C"), "postgresql")
"""Text in byte order; times are ISO 8601 text."""


def number() -> Column[int]:
    """Return the primary key `seq`, which grows with every row and so gives rows an order."""
    return Column("seq", WHOLE, primary_key=True, autoincrement=True)


def text(name: str, default: str | None = None) -> Column[str]:
    """Return a text column that is required, unless it has a default."""
    return Column(name, TEXT, nullable=False, server_default=default)


def whole(name: str, default: int | None = None) -> Column[int]:
    """Return an integer column that is required, unless it has a default."""
    return Column(
        name, WHOLE, nullable=False, server_default=None if default is None else str(default)
    )
