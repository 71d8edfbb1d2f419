"""Markers a merge left behind: one side, the other, both, or what was there before."""

from __future__ import annotations

import itertools
import re
from typing import Iterator, List, NamedTuple, Tuple

from sandbox.guest.search.candidates.broken.model import Draft
from sandbox.guest.search.candidates.broken.text import View
from sandbox.guest.search.source.render import Edit

COST = 0.4
CHANGES = (
    ("<<<<<<< HEAD\na = 1\n=======\na = 2\n>>>>>>> x\nb = 3\n", "a = 1\nb = 3\n"),
    ("<<<<<<< HEAD\na = 1\n=======\na = 2\n>>>>>>> x\nb = 3\n", "a = 2\nb = 3\n"),
    ("<<<<<<< HEAD\na = 1\n=======\nb = 2\n>>>>>>> x\n", "a = 1\nb = 2\n"),
    ("<<<<<<< HEAD\na = 1\n||||||| base\na = 0\n=======\na = 2\n>>>>>>> x\n", "a = 0\n"),
    ("<<<<<<<\na = 1\n=======\na = 2\n>>>>>>>\n<<<<<<<\nb = 1\n=======\nb = 2\n>>>>>>>\n", "a = 2\nb = 1\n"),
    ("a = 1\n=======\nb = 2\n", "a = 1\nb = 2\n"),
)
UNTOUCHED = ("x = f(a\n", "x = '''\n=======\n")
MOST_MIXED = 48
_MARKER = re.compile(r"^(<{7}|\|{7}|={7}|>{7})(?: .*)?$")
_BOTH, _REVERSED, _BASE = "both", "reversed", "base"
_CHOICES = (("ours", 0.0), ("theirs", 0.1), (_BOTH, 0.4), (_REVERSED, 0.6), (_BASE, 0.7))


class Conflict(NamedTuple):
    """One place where two versions met; spans of whole lines."""

    start: int
    end: int
    ours: Tuple[int, int]
    base: Tuple[int, int]
    theirs: Tuple[int, int]


def propose(view: View) -> Iterator[Draft]:
    """Decide every conflict of the file alike; a few of them each in its own way."""
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
            mixed = itertools.product(_CHOICES[:4], repeat=len(conflicts))
            ranked = sorted(
                mixed, key=lambda way: (round(sum(extra for _, extra in way), 3), [name for name, _ in way])
            )
            for way in ranked[:MOST_MIXED]:
                edits = tuple(_resolved(whole, c, name) for c, (name, _) in zip(conflicts, way))
                yield Draft(COST + 0.3 + sum(extra for _, extra in way) / len(conflicts), edits)
        return
    lines = [Edit(view.text.starts[n], min(view.text.starts[n + 1], len(view.text.text)), "") for n, _ in markers]
    yield Draft(COST + 0.4, tuple(lines))


def _markers(view: View) -> List[Tuple[int, str]]:
    found = []
    for number in range(view.text.count):
        match = _MARKER.match(view.text.line(number))
        if match:
            found.append((number, match.group(1)[0]))
    sure = any(kind in "<>" for _, kind in found)
    return found if sure or any(abs(n - view.fault.line) <= 1 for n, _ in found) else []


def _conflicts(view: View, markers: List[Tuple[int, str]]) -> Iterator[Conflict]:
    """Whole conflicts in the order of the file."""
    starts = view.text.starts
    order = "".join(kind for _, kind in markers)
    for match in re.finditer(r"<(\|?)=>", order):
        numbers = [number for number, _ in markers[match.start() : match.end()]]
        first, middle, last = numbers[0], numbers[-2], numbers[-1]
        ours_end = numbers[1]
        base = (starts[numbers[1] + 1], starts[middle]) if match.group(1) else (0, 0)
        end = min(starts[last + 1], len(view.text.text))
        yield Conflict(
            starts[first], end, (starts[first + 1], starts[ours_end]), base, (starts[middle + 1], starts[last])
        )


def _resolved(text: str, conflict: Conflict, choice: str) -> Edit:
    ours, theirs = text[slice(*conflict.ours)], text[slice(*conflict.theirs)]
    words = {
        "ours": ours, "theirs": theirs, _BOTH: ours + theirs, _REVERSED: theirs + ours,
        _BASE: text[slice(*conflict.base)],
    }  # fmt: skip
    return Edit(conflict.start, conflict.end, words[choice])
