"""Merge conflict markers: keep one side, the other, both, or the common ancestor."""

from __future__ import annotations

import itertools
import re
from typing import Iterator, List, NamedTuple, Tuple

from sandbox.guest.search.candidates.broken.model import Draft
from sandbox.guest.search.candidates.broken.text import SyntaxContext
from sandbox.guest.search.source.render import TextEdit

COST = 0.4
CHANGES = (
    ("<<<<<<< HEAD\na = 1\n=======\na = 2\n>>>>>>> x\nb = 3\n", "a = 1\nb = 3\n"),
    ("<<<<<<< HEAD\na = 1\n=======\na = 2\n>>>>>>> x\nb = 3\n", "a = 2\nb = 3\n"),
    ("<<<<<<< HEAD\na = 1\n=======\nb = 2\n>>>>>>> x\n", "a = 1\nb = 2\n"),
    ("<<<<<<< HEAD\na = 1\n||||||| base\na = 0\n=======\na = 2\n>>>>>>> x\n", "a = 0\n"),
    (
        "<<<<<<<\na = 1\n=======\na = 2\n>>>>>>>\n<<<<<<<\nb = 1\n=======\nb = 2\n>>>>>>>\n",
        "a = 2\nb = 1\n",
    ),
    ("a = 1\n=======\nb = 2\n", "a = 1\nb = 2\n"),
)
UNTOUCHED = ("x = f(a\n", "x = '''\n=======\n")
MAX_MIXED = 48
"""Maximum combinations of different choices to propose."""
_MARKER = re.compile(r"^(<{7}|\|{7}|={7}|>{7})(?: .*)?$")
_BOTH, _REVERSED, _BASE = "both", "reversed", "base"
_CHOICES = (("ours", 0.0), ("theirs", 0.1), (_BOTH, 0.4), (_REVERSED, 0.6), (_BASE, 0.7))


class MergeConflict(NamedTuple):
    """One conflict, as spans of whole lines."""

    start: int
    end: int
    ours: Tuple[int, int]
    base: Tuple[int, int]
    theirs: Tuple[int, int]


def propose(view: SyntaxContext) -> Iterator[Draft]:
    """Resolve all conflicts alike; resolve up to five also individually."""
    markers = _markers(view)
    if not markers:
        return
    conflicts = list(_conflicts(view, markers))
    if conflicts:
        whole = view.text.text
        for choice, extra in _CHOICES:
            if choice != _BASE or any(c.base[1] > c.base[0] for c in conflicts):
                yield Draft(COST + extra, tuple(_resolved(whole, c, choice) for c in conflicts))
        if 1 < len(conflicts) <= 5:
            # Four choices for five conflicts are 1,024 combinations, which can still be ranked.
            mixed = itertools.product(_CHOICES[:4], repeat=len(conflicts))
            ranked = sorted(
                mixed,
                key=lambda way: (
                    round(sum(extra for _, extra in way), 3),
                    [name for name, _ in way],
                ),
            )
            for way in ranked[:MAX_MIXED]:
                edits = tuple(_resolved(whole, c, name) for c, (name, _) in zip(conflicts, way))
                yield Draft(COST + 0.3 + sum(extra for _, extra in way) / len(conflicts), edits)
        return
    lines = [
        TextEdit(view.text.starts[n], min(view.text.starts[n + 1], len(view.text.text)), "")
        for n, _ in markers
    ]
    yield Draft(COST + 0.4, tuple(lines))


def _markers(view: SyntaxContext) -> List[Tuple[int, str]]:
    found = []
    for number in range(view.text.count):
        match = _MARKER.match(view.text.line(number))
        if match:
            found.append((number, match.group(1)[0]))
    # Rows of equal signs also underline headings in text.
    sure = any(kind in "<>" for _, kind in found)
    return found if sure or any(abs(n - view.fault.line) <= 1 for n, _ in found) else []


def _conflicts(view: SyntaxContext, markers: List[Tuple[int, str]]) -> Iterator[MergeConflict]:
    """Yield complete conflicts in file order."""
    starts = view.text.starts
    order = "".join(kind for _, kind in markers)
    for match in re.finditer(r"<(\|?)=>", order):
        numbers = [number for number, _ in markers[match.start() : match.end()]]
        first, middle, last = numbers[0], numbers[-2], numbers[-1]
        ours_end = numbers[1]
        base = (starts[numbers[1] + 1], starts[middle]) if match.group(1) else (0, 0)
        end = min(starts[last + 1], len(view.text.text))
        yield MergeConflict(
            starts[first],
            end,
            (starts[first + 1], starts[ours_end]),
            base,
            (starts[middle + 1], starts[last]),
        )


def _resolved(text: str, conflict: MergeConflict, choice: str) -> TextEdit:
    ours, theirs = text[slice(*conflict.ours)], text[slice(*conflict.theirs)]
    words = {
        "ours": ours, "theirs": theirs, _BOTH: ours + theirs, _REVERSED: theirs + ours,
        _BASE: text[slice(*conflict.base)],
    }  # fmt: skip
    return TextEdit(conflict.start, conflict.end, words[choice])
