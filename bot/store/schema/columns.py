"""The column types of the migrations: what is the same in SQLite's strict tables and in PostgreSQL."""

from typing import Any

from sqlalchemy import BigInteger, Column, Double, Integer, Text
from sqlalchemy.types import REAL, TypeEngine

WHOLE = BigInteger().with_variant(Integer(), "sqlite")
"""A whole number of 64 bits; yes and no are 1 and 0."""
NUMBER: TypeEngine[Any] = Double().with_variant(REAL(), "sqlite")
"""A floating-point number of 64 bits."""
TEXT = Text().with_variant(Text(collation="C"), "postgresql")
"""Text of any length, in the order of its bytes; moments are ISO 8601 in it."""


def number() -> Column[int]:
    """The column `seq`, the primary key: grows with every row, so that rows have an order on both."""
    return Column("seq", WHOLE, primary_key=True, autoincrement=True)


def text(name: str, default: str | None = None) -> Column[str]:
    """A column of text that must be given, unless it has a default."""
    return Column(name, TEXT, nullable=False, server_default=default)


def whole(name: str, default: int | None = None) -> Column[int]:
    """A column of whole numbers that must be given, unless it has a default."""
    return Column(name, WHOLE, nullable=False, server_default=None if default is None else str(default))
