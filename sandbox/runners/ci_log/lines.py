"""The lines of a CI job log without the runner's decoration, in linear time."""

import re
from typing import NamedTuple

MAX_CHARACTERS = 16 * 1024 * 1024
MAX_LINES = 200_000
HEAD_LINES = 20_000
LINE_CHARACTERS = 2000
_ANSI = re.compile(
    r"\x1b(?:\[[0-?]{0,20}[ -/]{0,4}[@-~]|\([A-Z0-9]|[=>]|\][^\x07\x1b\n]{0,1000}(?:\x07|\x1b\\))"
)
"""Colours, cursor movements, and hyperlinks around rule names."""
_STAMP = slice(0, 19)
"""`2026-07-30T19:16:42`, of a timestamp that ends within 31 characters with `Z`."""
_STAMP_END = 31
_PARTIAL = re.compile(r"[A-Za-z0-9+/=_.~%-]{1,512}\Z")
"""Characters that a cut may have split."""


class LogLines(NamedTuple):
    """The lines of a log with their times."""

    times: list[str]
    """`2026-07-30T19:16:42`; empty for a line without a time."""
    texts: list[str]


def log_lines(log: str) -> LogLines:
    """Split a log into bounded lines, without colours and overwritten progress."""
    if len(log) > MAX_CHARACTERS:
        log = log[-MAX_CHARACTERS:].partition("\n")[2]
    plain = log.replace("\ufeff", "").replace("\r\n", "\n")
    if "\x1b" in plain:
        plain = _ANSI.sub("", plain)
    times: list[str] = []
    texts: list[str] = []
    for line in _bound(plain):
        end = line.find("Z", 19, _STAMP_END) if line[10:11] == "T" and line[4:5] == "-" else -1
        if end > 0 and line[:4].isdigit():
            times.append(line[_STAMP])
            text = line[end + 2 :].rstrip()
        else:
            times.append("")
            text = line.rstrip()
        # Most lines are short and complete: only the others need a call.
        texts.append(_text(text) if len(text) > LINE_CHARACTERS or "\r" in text else text)
    return LogLines(times, texts)


def _bound(text: str) -> list[str]:
    if text.count("\n") < MAX_LINES:
        return text.rstrip("\n").split("\n")
    head = text.split("\n", HEAD_LINES)[:HEAD_LINES]
    tail = text.rsplit("\n", MAX_LINES - HEAD_LINES)[1:]
    return [*head, *tail]


def _text(line: str) -> str:
    if "\r" in line:
        line = line.rpartition("\r")[2]
    if len(line) > LINE_CHARACTERS:
        return f"{_PARTIAL.sub('', line[:LINE_CHARACTERS])} [...]"
    return line
