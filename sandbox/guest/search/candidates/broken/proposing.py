"""Proposals for one file: decode it, repair it, and convert the result to edits of its bytes."""

from __future__ import annotations

from typing import Iterator, List, Optional, Tuple

from sandbox.guest.search.candidates.broken.kinds import load_kinds
from sandbox.guest.search.candidates.broken.model import Broken, TextProposal
from sandbox.guest.search.candidates.broken.repairing import ALLOWANCE, RepairedText, SyntaxRepairer
from sandbox.guest.search.source.render import TextEdit

KINDS = load_kinds()
MARK = b"\xef\xbb\xbf"
"""The byte-order mark of UTF-8."""
MAX_PROPOSALS = 60


def propose(source: bytes, error: Broken, allowance: int = ALLOWANCE) -> Iterator[TextProposal]:
    """Yield repairs that make a file compile.

    Hostile text can exhaust a parser. The work is bounded here; `propose_in_child` adds limits of
    the operating system.

    Args:
        source: The file.
        error: The syntax error reported by the interpreter.
        allowance: Maximum characters to parse.
    """
    mark = len(MARK) if source.startswith(MARK) else 0
    text = _decoded(source[mark:])
    if text is None:
        return
    repairer = SyntaxRepairer(KINDS, allowance)
    for repaired in repairer.repair(text)[:MAX_PROPOSALS]:
        edits = difference(text, repaired.text)
        # The search parsed text; the final check compiles the bytes, as an import does.
        if edits and _compiles(source[:mark] + repaired.text.encode("utf-8"), error.path):
            yield TextProposal(
                "+".join(repaired.kinds),
                round(repaired.cost, 4),
                _in_bytes(text, edits, mark),
                _description(text, repaired),
            )


def _decoded(source: bytes) -> Optional[str]:
    """Return the text, or None if it cannot be decoded.

    That includes lone carriage returns, which the parser counts as line ends.
    """
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


def difference(old: str, new: str) -> Tuple[TextEdit, ...]:
    """Return edits for the smallest range of lines that differs, trimmed within each line."""
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
    edits: List[TextEdit] = []
    for one, other in zip(middle, changed):
        edits += _trimmed(at, one, other)
        at += len(one)
    return tuple(edits)


def _trimmed(at: int, old: str, new: str) -> Tuple[TextEdit, ...]:
    if old == new:
        return ()
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    end = 0
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
    return (TextEdit(at + start, at + len(old) - end, new[start : len(new) - end]),)


def _in_bytes(text: str, edits: Tuple[TextEdit, ...], mark: int) -> Tuple[TextEdit, ...]:
    """Convert edits from character offsets to byte offsets of the file."""
    return tuple(
        TextEdit(
            len(text[: edit.start].encode("utf-8")) + mark,
            len(text[: edit.end].encode("utf-8")) + mark,
            edit.text,
        )
        for edit in edits
    )


def _description(text: str, repaired: RepairedText) -> str:
    """Return a one-line description such as "line 3: `def f(:` became `def f():`"."""
    edits = difference(text, repaired.text)
    line = text.count("\n", 0, edits[0].start)
    new = repaired.text.count("\n", 0, edits[0].start)
    before, after = text.split("\n")[line], repaired.text.split("\n")[new]
    if before.strip() == after.strip():
        return f"line {line + 1}: indented by {_width(after)} instead of {_width(before)} columns"
    return f"line {line + 1}: `{_short(before)}` became `{_short(after)}`"


def _width(line: str) -> int:
    return len(line) - len(line.lstrip())


def _short(line: str) -> str:
    plain = " ".join(line.split())
    return plain if len(plain) <= 60 else plain[:57] + "..."
