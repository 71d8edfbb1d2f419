"""Moments from which on missions are listed."""

from datetime import UTC, datetime

import pytest

from bot.domain.since import read_since
from bot.errors import UsageError

NOW = datetime(2026, 11, 24, 9, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("", ""),
        ("30m", "2026-11-24T08:30:00+00:00"),
        ("1d", "2026-11-23T09:00:00+00:00"),
        ("2w", "2026-11-10T09:00:00+00:00"),
        ("2026-11-01", "2026-11-01T00:00:00+00:00"),
        # Stored times are compared as text, so another time zone would be in the wrong order.
        ("2026-11-01T05:00:00+02:00", "2026-11-01T03:00:00+00:00"),
    ],
)
def test_a_time_is_an_age_or_a_date(text: str, moment: str) -> None:
    assert read_since(text, NOW) == moment


@pytest.mark.parametrize(
    "text", ["yesterday", "1", "1y", "-1d", "1d2h", "٣d", "0001-01-01T00:00:00+02:00"]
)
def test_another_time_is_wrong_use(text: str) -> None:
    with pytest.raises(UsageError, match="is no time"):
        read_since(text, NOW)
