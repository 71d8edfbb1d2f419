"""Survivors and near misses: what the host is told of them, and what the comparison gets."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence, Tuple

from sandbox.guest.search.candidates.doubts import doubts_about
from sandbox.guest.search.candidates.splicing import Changes, whole_changes
from sandbox.guest.search.compare import Alternative, compare
from sandbox.guest.search.context.budget import Course
from sandbox.guest.search.context.situation import Situation
from sandbox.guest.search.lanes.model import Ready

MOST_NEAR_MISSES = 10
DOUBTED = 4
"""How many times longer is looked on when there are doubts about all that was found."""
LONGEST_GRACE_S = 12.0


class Survivors:
    """Everything that was found.

    Args:
        situation: What is known.
        course: Where it is told.
    """

    def __init__(self, situation: Situation, course: Course) -> None:
        self._situation = situation
        self._course = course
        self._found: List[Alternative] = []
        self._texts: List[Any] = []
        self._undone: List[Any] = []
        self._near_misses = 0
        self._sound = False
        """A survivor without doubts was found."""

    def add(self, ready: Ready, *, ends: bool = True) -> None:
        """Tell the host of a survivor, unless its text is that of an earlier one.

        Args:
            ready: The survivor.
            ends: Whether the search may end on its account.

        Raises:
            Refused: the failing tests pass now and then without any change.
        """
        if not self._found:
            self._situation.refuse_lucky()
        candidate = ready.candidate
        changes = whole_changes(candidate, ready.first)
        files = {source.path: source.render(edits) for source, edits in changes}
        if files in self._texts or (candidate.undoes and files in self._undone):
            return
        (self._undone if candidate.undoes else self._texts).append(files)
        course = self._course
        whole = candidate._replace(source=changes[0][0], edits=changes[0][1], more=changes[1:])
        doubts = doubts_about(whole, self._situation.literals)
        course.emit({
            "kind": "survivor", "template": candidate.template, "path": changes[0][0].path,
            "line": candidate.line, "cost": candidate.cost, "suspicion": candidate.suspicion,
            "edits": spans_of(changes), "lane": ready.lane, "description": candidate.description[:300],
            "tried": course.tried, "seconds": course.seconds(),
            "warnings": doubts,
        })  # fmt: skip
        swaps: Tuple[Any, ...] = tuple(ready.trial.swaps) if ready.trial is not None else ()
        units = [c.unit for c in (ready.first, candidate) if c is not None and c.unit is not None]
        self._found.append(Alternative(swaps, files, tuple(units[:1])))
        if not ends:
            return
        course.survivors += 1
        # Look a little longer: how many different fixes there are is worth knowing, and the first may not be best.
        grace = min(max(0.7, 0.6 * course.seconds()), LONGEST_GRACE_S)
        if not doubts and not self._sound:
            self._sound = True
            course.hurry(grace)
        elif course.survivors == 1:
            course.hurry(DOUBTED * grace)

    def nearly(self, ready: Ready, fixed: Sequence[str]) -> None:
        """Tell the host of a candidate that fixes some failing tests and breaks none."""
        if self._near_misses >= MOST_NEAR_MISSES:
            return
        self._near_misses += 1
        changes = whole_changes(ready.candidate, ready.first)
        self._course.emit({
            "kind": "near_miss", "template": ready.candidate.template, "path": changes[0][0].path,
            "line": ready.candidate.line, "edits": spans_of(changes), "fixed": list(fixed),
            "description": ready.candidate.description[:300],
        })  # fmt: skip

    def compare(self) -> None:
        """Compare all of them, once, at the end."""
        if not self._found or self._situation.ground is None:
            return
        event: Optional[Dict[str, Any]] = compare(self._situation.ground, self._found, self._course.left_in_all())
        if event:
            event.update(passed_screen=self._course.passed_screen, passed_held_out=self._course.confirmed)
            self._course.emit(event)


def spans_of(changes: Changes) -> List[Dict[str, Any]]:
    """Edits as the host reads them."""
    return [
        {"path": source.path, "start": edit.start, "end": edit.end, "text": edit.text}
        for source, edits in changes
        for edit in edits
    ]
