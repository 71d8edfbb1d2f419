"""Parse the context of an edit in an answer: fences, paths and anchors."""

import re
from collections.abc import Collection, Sequence

from sandbox.types import Frozen

MAX_LABEL = 400
"""Maximum length of labels, fences and headers; longer lines are text."""
_LOOK_BACK = 6
_FENCE = re.compile(r"^ {0,3}(?P<mark>`{3,}|~{3,})[ \t]*(?P<info>[^`]*)$")
_DECORATION = " \t#*>`\"':-=[]()"
_WORDS = re.compile(r"^(?:file|path|filename|in|update|edit)[ \t]*:?[ \t]+(?=\S+$)", re.IGNORECASE)
_PLAIN = re.compile(r"^[^\s`*\"'<>|]+$")
_PATH_LIKE = re.compile(r"/|\.\w{1,10}$|^\.\w")
_ANCHOR = re.compile(r"^[ \t]*@@(?P<name>[^@\n]{1,200})(?:@@[ \t]*)?$")


class Label(Frozen):
    """Path and anchor given above an edit."""

    path: str = ""
    anchor: str = ""


class Fence(Frozen):
    """A fenced block of an answer."""

    first: int
    """Index of its opening line."""
    last: int
    """Index of its closing line, or of the last line if it is not closed."""
    info: str = ""
    lines: tuple[str, ...] = ()
    closed: bool = True
    label: Label = Label()

    @property
    def language(self) -> str:
        """Return the language in lower case; empty if none is named."""
        word = re.split(r"[\s:{]", self.info, maxsplit=1)[0].lower()
        return "" if _PATH_LIKE.search(word) else word


def find_fences(lines: Sequence[str], known: Collection[str]) -> tuple[Fence, ...]:
    """Return the fenced blocks of an answer, in order.

    Args:
        lines: Lines of the answer.
        known: Paths that were sent.
    """
    found, at = list[Fence](), 0
    while at < len(lines):
        opening = open_fence(lines[at])
        if opening is None:
            at += 1
            continue
        end = next(
            (i for i in range(at + 1, len(lines)) if closes_fence(lines[i], opening["mark"])), None
        )
        last = len(lines) - 1 if end is None else end
        content = tuple(lines[at + 1 : len(lines) if end is None else end])
        label = label_above(lines, at + 1, known, stop=found[-1].last + 1 if found else 0)
        info = opening["info"].strip()
        found.append(
            Fence(
                first=at, last=last, info=info, lines=content, closed=end is not None, label=label
            )
        )
        at = last + 1
    return tuple(found)


def open_fence(line: str) -> re.Match[str] | None:
    """Match a line that opens a fence.

    Long lines are skipped, because the pattern would be slow on them.
    """
    return _FENCE.match(line) if len(line) <= MAX_LABEL else None


def closes_fence(line: str, mark: str) -> bool:
    """Return True if a line closes the fence that this mark opened."""
    text = line.strip()
    # As in CommonMark: at least as many marks as the opening fence.
    return len(text) >= len(mark) and set(text) == {mark[0]}


def label_above(lines: Sequence[str], at: int, known: Collection[str], *, stop: int = 0) -> Label:
    """Read the label above a line, skipping blank lines, fences and anchors but not prose.

    Args:
        lines: Lines of the answer.
        at: Index of the edit's first line.
        known: Paths that were sent.
        stop: Lowest index to read.
    """
    anchor = ""
    for index in range(at - 1, max(stop, at - 1 - _LOOK_BACK) - 1, -1):
        line = lines[index]
        fence = open_fence(line)
        if not line.strip():
            continue
        if (named := parse_anchor(line)) is not None:
            anchor = anchor or named
            continue
        path = _path_in_info(fence["info"], known) if fence is not None else parse_path(line, known)
        if path or fence is None:
            return Label(path=path, anchor=anchor)
    return Label(anchor=anchor)


def parse_anchor(line: str) -> str | None:
    """Return the name in an anchor line such as `@@ Class.method`."""
    match = _ANCHOR.match(line) if len(line) <= MAX_LABEL else None
    return match["name"].strip() if match is not None else None


def parse_path(line: str, known: Collection[str]) -> str:
    """Return the path that a line consists of or mentions; empty if there is none.

    Args:
        line: A line above an edit.
        known: Paths that were sent; in prose only these count.
    """
    text = line.strip()
    if len(text) > MAX_LABEL or text in known:
        return text if text in known else ""
    bare = _WORDS.sub("", text.strip(_DECORATION)).strip(_DECORATION)
    if bare in known or (_PLAIN.match(bare) and _PATH_LIKE.search(bare)):
        return bare
    mentioned = {word.strip(_DECORATION + ",.;") for word in text.split()} & set(known)
    return mentioned.pop() if len(mentioned) == 1 else ""


def _path_in_info(info: str, known: Collection[str]) -> str:
    """Return the path in a fence's info string.

    Examples: `python src/a.py`, `python:src/a.py`, `src/a.py`, `python title="src/a.py"`.
    """
    for word in re.split(r"[\s:={}\"']+", info[:MAX_LABEL]):
        if word in known or (_PATH_LIKE.search(word) and _PLAIN.match(word)):
            return word
    return ""
