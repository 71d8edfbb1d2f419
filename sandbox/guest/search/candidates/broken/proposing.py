"""Proposals for one file: decoded, mended, and turned back into edits of its bytes."""

from __future__ import annotations

from typing import Iterator, List, Optional, Tuple

from sandbox.guest.search.candidates.broken.kinds import load_kinds
from sandbox.guest.search.candidates.broken.mending import ALLOWANCE, Mended, Mender
from sandbox.guest.search.candidates.broken.model import Broken, TextProposal
from sandbox.guest.search.source.render import Edit

KINDS = load_kinds()
MARK = b"\xef\xbb\xbf"
MAX_PROPOSALS = 60


def propose(source: bytes, error: Broken, allowance: int = ALLOWANCE) -> Iterator[TextProposal]:
    """Ways to write a file so that it compiles.

    Parsing hostile text can exhaust a parser: the work is bounded, and `propose_in_child` bounds it harder.

    Args:
        source: The file.
        error: What the interpreter said of it.
        allowance: How many characters may be parsed.
    """
    mark = len(MARK) if source.startswith(MARK) else 0
    text = _decoded(source[mark:])
    if text is None:
        return
    mender = Mender(KINDS, allowance)
    for mended in mender.mend(text)[:MAX_PROPOSALS]:
        edits = difference(text, mended.text)
        if edits and _compiles(source[:mark] + mended.text.encode("utf-8"), error.path):
            yield TextProposal(
                "+".join(mended.kinds), round(mended.cost, 4), _in_bytes(text, edits, mark), _description(text, mended)
            )


def _decoded(source: bytes) -> Optional[str]:
    """The text; None for what is not UTF-8, or has line ends we do not count as the parser does."""
    try:
        text = source.decode("utf-8")
    except UnicodeDecodeError:
        return None
    if "\r" in text.replace("\r\n", "") or "\0" in text:
        return None
    return text


def _compiles(source: bytes, path: str) -> bool:
    try:
        compile(source, path or "<text>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError, SystemError):
        return False
    return True


def difference(old: str, new: str) -> Tuple[Edit, ...]:
    """The smallest run of whole lines that differs, each line trimmed to what differs in it."""
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    head = 0
    while head < min(len(before), len(after)) and before[head] == after[head]:
        head += 1
    tail = 0
    while tail < min(len(before), len(after)) - head and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    at = sum(map(len, before[:head]))
    middle, changed = before[head : len(before) - tail], after[head : len(after) - tail]
    if len(middle) != len(changed):
        return _trimmed(at, "".join(middle), "".join(changed))
    edits: List[Edit] = []
    for one, other in zip(middle, changed):
        edits += _trimmed(at, one, other)
        at += len(one)
    return tuple(edits)


def _trimmed(at: int, old: str, new: str) -> Tuple[Edit, ...]:
    if old == new:
        return ()
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    end = 0
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
    return (Edit(at + start, at + len(old) - end, new[start : len(new) - end]),)


def _in_bytes(text: str, edits: Tuple[Edit, ...], mark: int) -> Tuple[Edit, ...]:
    """The same edits, counted in bytes of the file."""
    return tuple(
        Edit(len(text[: edit.start].encode("utf-8")) + mark, len(text[: edit.end].encode("utf-8")) + mark, edit.text)
        for edit in edits
    )


def _description(text: str, mended: Mended) -> str:
    """`line 3: "def f(:" became "def f():"`, in one short line."""
    edits = difference(text, mended.text)
    line = text.count("\n", 0, edits[0].start)
    new = mended.text.count("\n", 0, edits[0].start)
    before, after = text.split("\n")[line], mended.text.split("\n")[new]
    if before.strip() == after.strip():
        return f"line {line + 1}: indented by {_width(after)} instead of {_width(before)} columns"
    return f"line {line + 1}: `{_short(before)}` became `{_short(after)}`"


def _width(line: str) -> int:
    return len(line) - len(line.lstrip())


def _short(line: str) -> str:
    plain = " ".join(line.split())
    return plain if len(plain) <= 60 else plain[:57] + "..."
