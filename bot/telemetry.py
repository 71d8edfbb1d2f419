"""Structured log lines, the mission id on every line, secrets masked."""

import json
import logging
import sys
from collections.abc import Sequence
from typing import Any, TextIO

from pydantic import SecretStr
from typing_extensions import override

from sandbox.gate import clean, needles_of

OWN_LOGGERS = ("bot", "metaagent", "sandbox")
_LINE_CAP = 8_192
_STANDARD = frozenset(logging.LogRecord("", 0, "", 0, "", None, None).__dict__) | {"message", "asctime", "taskName"}


class JsonFormatter(logging.Formatter):
    """One JSON object a line; every text goes through the gate before it is written.

    Args:
        secrets: Values that must never be seen, whatever their encoding.
    """

    def __init__(self, secrets: Sequence[SecretStr] = ()) -> None:
        super().__init__()
        self._secrets = needles_of(secrets)

    @override
    def format(self, record: logging.LogRecord) -> str:
        """The record as one line of JSON."""
        line: dict[str, Any] = {
            "time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": self._masked(record.getMessage()),
        }
        for key, value in record.__dict__.items():
            if key not in _STANDARD and value is not None:
                line[key] = value if isinstance(value, int | float | bool) else self._masked(str(value))
        if record.exc_info:
            line["exception"] = self._masked(self.formatException(record.exc_info))
        return json.dumps(line, ensure_ascii=False)

    def _masked(self, text: str) -> str:
        return clean(text, cap=_LINE_CAP, secrets=self._secrets)


def set_up_logging(
    *, level: str = "INFO", secrets: Sequence[SecretStr] = (), stream: TextIO | None = None
) -> logging.Handler:
    """Send every logger's lines, masked, to one stream; returns the handler.

    Args:
        level: Lowest level of our own loggers; libraries start at WARNING.
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
