"""Read the verified diff: which text replaced which, in which function. Pure."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, zip_longest

from bot.domain.mission import MissionContext
from bot.publish.markdown import SafeWriter
from sandbox.types import Frozen

SNIPPET_CHARS = 24
"""Longest code shown within a sentence, in characters."""

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_TOKEN = re.compile(
    r"\w+(?:\.\d+)?|\"[^\"]*\"|'[^']*'|[=!<>]=|//|\*\*|->|:=|<<|>>|[-+*/%@&|^]=|\s+|."
)
_OPERAND = re.compile(r"\w[\w.]*|[\"'].*")
_OPERATOR = re.compile(r"[=!<>]=|[<>]|//|\*\*|<<|>>|[-+*/%]")
_DEFINITION = re.compile(
    r"(?P<indent>[ \t]*)(?:(?:export|pub|public|private|static|async) )*"
    r"(?P<kind>def|class|func|function|fn) +(?P<name>\w+)"
)


class DiffLine(Frozen):
    """A line of a hunk, with its numbers in the old and in the new file."""

    sign: str
    text: str
    old: int
    new: int


class ChangedPart(Frozen):
    """One changed place: the code before and after, shortened to the difference."""

    path: str
    line: int
    """First line of the place in the new file."""
    old_line: int = 0
    """The same line in the old file; 0 if the text is new."""
    symbol: str = ""
    """`function` or `Class.method`; empty outside of functions and classes."""
    old: str = ""
    new: str = ""
    """Both empty if the difference is too long for a sentence."""


def changed_parts(context: MissionContext, pen: SafeWriter) -> tuple[ChangedPart, ...]:
    """Return the places that the verified fix changes; empty without a fix.

    Args:
        context: A mission.
        pen: Sanitizes the diff before it is split, so that no half of a secret remains.
    """
    if context.fix is None:
        return ()
    verification = context.fix[1]
    sources = {
        edit.path: edit.content.decode(errors="replace").splitlines() for edit in verification.edits
    }
    return tuple(_parts(pen.block(verification.diff), sources))


def _parts(diff: str, sources: Mapping[str, Sequence[str]]) -> Iterator[ChangedPart]:
    for path, starts, lines in _hunks(diff):
        for changed, group in groupby(_number(lines, *starts), key=lambda one: one.sign != " "):
            if changed:
                yield from _pairs(path, list(group), sources.get(path, ()))


def _hunks(diff: str) -> Iterator[tuple[str, tuple[int, int], list[str]]]:
    """Yield path, first line in the old and the new file, and lines of each hunk.

    The counts in a hunk's header say where it ends, so changed text cannot pass for a header.
    """
    lines, at, path = diff.splitlines(), 0, ""
    while at < len(lines):
        line, at = lines[at], at + 1
        if line.startswith(("--- a/", "+++ b/")):
            path = line[len("--- a/") :].rstrip("\t")
        found = _HUNK.match(line)
        if found is None:
            continue
        old, new, start = int(found[2] or "1"), int(found[4] or "1"), at
        while at < len(lines) and (old > 0 or new > 0):
            old -= not lines[at].startswith(("+", "\\"))
            new -= not lines[at].startswith(("-", "\\"))
            at += 1
        yield path, (int(found[1]), int(found[3])), lines[start:at]


def _number(lines: Sequence[str], old: int, new: int) -> Iterator[DiffLine]:
    for line in lines:
        yield DiffLine(sign=line[:1] or " ", text=line[1:], old=old, new=new)
        old += not line.startswith(("+", "\\"))
        new += not line.startswith(("-", "\\"))


def _pairs(path: str, run: list[DiffLine], source: Sequence[str]) -> Iterator[ChangedPart]:
    gone = [line for line in run if line.sign == "-"]
    come = [line for line in run if line.sign == "+"]
    if gone and come and len(gone) != len(come):
        symbol = find_symbol(source, come[0].new)
        yield ChangedPart(path=path, line=come[0].new, old_line=gone[0].old, symbol=symbol)
        return
    for old, new in zip_longest(gone, come):
        line = (new or old).new
        before, after = _difference(old.text if old else "", new.text if new else "")
        yield ChangedPart(
            path=path,
            line=line,
            old_line=old.old if old else 0,
            symbol=find_symbol(source, line),
            old=before,
            new=after,
        )


def _difference(old: str, new: str) -> tuple[str, str]:
    """Return the differing tokens of two lines; empty if they are too long for a sentence."""
    before, after = _TOKEN.findall(old.strip()), _TOKEN.findall(new.strip())
    shorter = min(len(before), len(after))
    head = next((i for i in range(shorter) if before[i] != after[i]), shorter)
    shorter -= head
    tail = next((i for i in range(shorter) if before[-1 - i] != after[-1 - i]), shorter)
    ends = len(before) - tail, len(after) - tail
    gone, come = "".join(before[head : ends[0]]), "".join(after[head : ends[1]])
    if _OPERAND.fullmatch(gone) and _OPERAND.fullmatch(come):
        # `0` alone says little: show `== 0`.
        known = len(before[:head])
        start = known - 2 if known > 1 and before[known - 1].isspace() else known - 1
        if start >= 0 and _OPERATOR.fullmatch(before[start]):
            lead = "".join(before[start:head])
            gone, come = lead + gone, lead + come
    gone, come = gone.strip(), come.strip()
    if max(len(gone), len(come)) > SNIPPET_CHARS or "`" in gone + come:
        return "", ""
    return gone, come


def find_symbol(source: Sequence[str], line: int) -> str:
    """Return the innermost definition around a line, as `name` or `Class.name`.

    Args:
        source: Lines of the file.
        line: Number of the line, from 1.
    """
    if not 0 < line <= len(source):
        return ""
    names: list[str] = []
    own = _DEFINITION.match(source[line - 1])
    depth = _indent(source[line - 1]) + (1 if own else 0)
    for text in reversed(source[:line]):
        found = _DEFINITION.match(text)
        if found is None or len(found["indent"]) >= depth:
            continue
        depth = len(found["indent"])
        names.append(found["name"])
        if found["kind"] == "class" and len(names) > 1:
            break
    return ".".join(reversed(names[:2]))


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
