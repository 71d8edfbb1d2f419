"""What stands around an edit in an answer: fences, the path it is for, the anchor that says where."""

import re
from collections.abc import Collection, Sequence

from sandbox.types import Frozen

MAX_LABEL = 400
"""Longer lines are text: they are no labels, fences or headers."""
_LOOK_BACK = 6
_FENCE = re.compile(r"^ {0,3}(?P<mark>`{3,}|~{3,})[ \t]*(?P<info>[^`]*)$")
_DECORATION = " \t#*>`\"':-=[]()"
_WORDS = re.compile(r"^(?:file|path|filename|in|update|edit)[ \t]*:?[ \t]+(?=\S+$)", re.IGNORECASE)
_PLAIN = re.compile(r"^[^\s`*\"'<>|]+$")
_PATH_LIKE = re.compile(r"/|\.\w{1,10}$|^\.\w")
_ANCHOR = re.compile(r"^[ \t]*@@[ \t]*(?P<name>[^@\n]{1,200}?)[ \t]*(?:@@)?[ \t]*$")


class Label(Frozen):
    """What the lines above an edit say of it."""

    path: str = ""
    anchor: str = ""


class Fence(Frozen):
    """A fenced piece of an answer."""

    first: int
    """Index of its opening line."""
    last: int
    """Index of its closing line, or of the last line where it has none."""
    info: str = ""
    lines: tuple[str, ...] = ()
    closed: bool = True
    label: Label = Label()

    @property
    def language(self) -> str:
        """In lower case; empty where none is named."""
        word = re.split(r"[\s:{]", self.info, maxsplit=1)[0].lower()
        return "" if _PATH_LIKE.search(word) else word


def fences_of(lines: Sequence[str], known: Collection[str]) -> tuple[Fence, ...]:
    """The fenced pieces of an answer, in order.

    Args:
        lines: Of the answer.
        known: Paths that were sent.
    """
    found, at = list[Fence](), 0
    while at < len(lines):
        opening = _fence(lines[at])
        if opening is None:
            at += 1
            continue
        end = next((i for i in range(at + 1, len(lines)) if _closes(lines[i], opening["mark"])), None)
        last = len(lines) - 1 if end is None else end
        content = tuple(lines[at + 1 : len(lines) if end is None else end])
        label = label_above(lines, at + 1, known, stop=found[-1].last + 1 if found else 0)
        info = opening["info"].strip()
        found.append(Fence(first=at, last=last, info=info, lines=content, closed=end is not None, label=label))
        at = last + 1
    return tuple(found)


def _fence(line: str) -> re.Match[str] | None:
    """A line that opens a fence; a long one is none, and would make the pattern slow."""
    return _FENCE.match(line) if len(line) <= MAX_LABEL else None


def _closes(line: str, mark: str) -> bool:
    text = line.strip()
    return len(text) >= len(mark) and set(text) == {mark[0]}


def label_above(lines: Sequence[str], at: int, known: Collection[str], *, stop: int = 0) -> Label:
    """What the few lines before a line say: blank lines, fences and anchors are looked through, prose is not.

    Args:
        lines: Of the answer.
        at: Index of the edit's first line.
        known: Paths that were sent.
        stop: Index that is not looked behind.
    """
    anchor = ""
    for index in range(at - 1, max(stop, at - 1 - _LOOK_BACK) - 1, -1):
        line = lines[index]
        fence = _fence(line)
        if not line.strip():
            continue
        if (named := anchor_of(line)) is not None:
            anchor = anchor or named
            continue
        path = _path_in_info(fence["info"], known) if fence is not None else path_of(line, known)
        if path or fence is None:
            return Label(path=path, anchor=anchor)
    return Label(anchor=anchor)


def anchor_of(line: str) -> str | None:
    """The name an anchor line gives: `@@ Class.method`."""
    match = _ANCHOR.match(line) if len(line) <= MAX_LABEL else None
    return match["name"].strip() if match is not None else None


def path_of(line: str, known: Collection[str]) -> str:
    """The path a line consists of, or mentions; empty when it is only prose.

    Args:
        line: Above an edit.
        known: Paths that were sent: in prose only these count.
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
    """```python src/a.py, ```python:src/a.py, ```src/a.py, ```python title="src/a.py"."""
    for word in re.split(r"[\s:={}\"']+", info[:MAX_LABEL]):
        if word in known or (_PATH_LIKE.search(word) and _PLAIN.match(word)):
            return word
    return ""
