"""The lines of a CI job's log without what the runner put around them; linear in the log's length."""

import re
from typing import NamedTuple

MAX_CHARACTERS = 16 * 1024 * 1024
MAX_LINES = 200_000
HEAD_LINES = 20_000
LINE_CHARACTERS = 2000
_ANSI = re.compile(r"\x1b(?:\[[0-?]{0,20}[ -/]{0,4}[@-~]|\([A-Z0-9]|[=>])")
_STAMPED = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3,9}Z ?")
_PARTIAL = re.compile(r"[A-Za-z0-9+/=_.~%-]{1,512}\Z")
"""What a cut may have gone through."""


class LogLine(NamedTuple):
    """One line."""

    at: str
    """`2026-07-30T19:16:42`; empty when the log has no times."""
    text: str


def log_lines(log: str) -> list[LogLine]:
    """The lines: no byte order mark, times apart, no colours, of a progress line what was seen last, bounded."""
    if len(log) > MAX_CHARACTERS:
        log = log[-MAX_CHARACTERS:].partition("\n")[2]
    plain = log.removeprefix("\ufeff")
    if "\x1b" in plain:
        plain = _ANSI.sub("", plain)
    return [_line(line) for line in _bounded(plain.replace("\r\n", "\n"))]


def _bounded(text: str) -> list[str]:
    if text.count("\n") < MAX_LINES:
        return text.rstrip("\n").split("\n")
    head = text.split("\n", HEAD_LINES)[:HEAD_LINES]
    tail = text.rsplit("\n", MAX_LINES - HEAD_LINES)[1:]
    return [*head, *tail]


def _line(line: str) -> LogLine:
    at = ""
    if line[4:5] == "-" and line[10:11] == "T":
        match = _STAMPED.match(line)
        if match is not None:
            at, line = line[:19], line[match.end() :]
    line = line.removeprefix("\ufeff").rstrip()
    if "\r" in line:
        line = line.rpartition("\r")[2]
    if len(line) > LINE_CHARACTERS:
        line = f"{_PARTIAL.sub('', line[:LINE_CHARACTERS])} [...]"
    return LogLine(at, line)
