"""A moment from which on something is listed: an age or a date."""

import re
from datetime import UTC, datetime, timedelta

from bot.errors import UsageError

_AGE = re.compile(r"(\d{1,4})([mhdw])", re.ASCII)
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def read_since(text: str, now: datetime) -> str:
    """Return a moment as ISO 8601 in UTC, as stored times are: they are compared as text.

    Args:
        text: An age such as `12h` or `1d`, or a date; empty for no limit.
        now: The current time.

    Raises:
        UsageError: it is neither.
    """
    if not text:
        return ""
    if found := _AGE.fullmatch(text):
        return (now - timedelta(**{_UNITS[found[2]]: int(found[1])})).isoformat()
    try:
        moment = datetime.fromisoformat(text)
        moment = moment if moment.tzinfo else moment.replace(tzinfo=now.tzinfo)
        return moment.astimezone(UTC).isoformat()
    except (ValueError, OverflowError) as error:
        raise UsageError(
            f"{text!a} is no time", "write an age (30m, 12h, 1d, 2w) or a date (2026-11-24)"
        ) from error
