"""Structured log lines with the mission id, and with secrets masked."""

import json
import logging
import sys
from collections.abc import Sequence
from contextvars import ContextVar
from typing import Any, TextIO

from pydantic import SecretStr
from typing_extensions import override

from sandbox.gate import clean, prepare_needles

OWN_LOGGERS = ("bot", "metaagent", "sandbox")
current_mission: ContextVar[str] = ContextVar("mission", default="")
"""The mission that the current task works for; every line that it logs carries this id."""
_LINE_CAP = 8_192
# Attributes of every record; all others come from `extra`.
_STANDARD = frozenset(logging.LogRecord("", 0, "", 0, "", None, None).__dict__) | {
    "message",
    "asctime",
    "taskName",
}


class JsonFormatter(logging.Formatter):
    """Formats records as one JSON object per line; every text is masked first.

    Args:
        secrets: Values to mask, in any encoding.
    """

    def __init__(self, secrets: Sequence[SecretStr] = ()) -> None:
        super().__init__()
        self._secrets = prepare_needles(secrets)

    @override
    def format(self, record: logging.LogRecord) -> str:
        """Return the record as one line of JSON."""
        line: dict[str, Any] = {
            "time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": self._mask(record.getMessage()),
        }
        for key, value in record.__dict__.items():
            if key not in _STANDARD and value is not None:
                line[key] = (
                    value if isinstance(value, int | float | bool) else self._mask(str(value))
                )
        if mission := current_mission.get():
            line.setdefault("mission", self._mask(mission))
        if record.exc_info:
            line["exception"] = self._mask(self.formatException(record.exc_info))
        return json.dumps(line, ensure_ascii=False)

    def _mask(self, text: str) -> str:
        return clean(text, cap=_LINE_CAP, secrets=self._secrets)


def set_up_logging(
    *, level: str = "INFO", secrets: Sequence[SecretStr] = (), stream: TextIO | None = None
) -> logging.Handler:
    """Send the masked lines of every logger to one stream, and return its handler.

    Args:
        level: Lowest level of our own loggers; libraries use WARNING.
        secrets: Values to mask.
        stream: Standard error by default.
    """
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter(secrets))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    for own in OWN_LOGGERS:
        logging.getLogger(own).setLevel(level.upper())
    return handler
