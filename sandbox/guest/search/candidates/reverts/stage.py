"""Before anything else: does undoing the whole change help, and which smallest part of it does?"""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence

from sandbox.guest.search.candidates.generator import Candidate
from sandbox.guest.search.candidates.reverts.offers import Undoing, undoing_of
from sandbox.guest.search.candidates.reverts.parts import LINE, WHOLE, WORD, Part, atoms_of, parts_of, whole_of
from sandbox.guest.search.candidates.reverts.smallest import smallest
from sandbox.guest.search.source.render import Source

MOST_TRIALS = 60
ELSEWHERE = 0.7
"""What is left of the suspicion of all other lines, once undoing some lines has helped."""
BESIDE = 0.85
"""Of the lines of the same function, at least."""
Trial = Callable[[Candidate], bool]


class Undo:
    """Looks for the smallest part of the diff that makes the failing tests pass when it is undone.

    Args:
        hunks: The diff; see `sandbox.types.RedHunk`.
        sources: The files that may be edited, as they are.
        undoing: What is known about the diff.
        helps: Whether a candidate makes all failing tests pass and breaks none that it meets.
    """

    def __init__(
        self, hunks: Sequence[Mapping[str, Any]], sources: Mapping[str, Source], undoing: Undoing, helps: Trial
    ) -> None:
        self._known = [(hunk, sources[str(hunk["path"])]) for hunk in hunks if str(hunk["path"]) in sources]
        self._sources = sources
        self._undoing = undoing
        self._helps = helps
        self._left = MOST_TRIALS
        self.parts: List[Part] = []
        """What has to be undone at least."""

    def run(self) -> Optional[Candidate]:
        """The smallest undoing found, or None when undoing everything does not help."""
        wholes = [whole_of(hunk, source) for hunk, source in self._known]
        # What can be swapped into live functions is tried a hundred times faster than what needs an import.
        parts = sorted((part for part in wholes if part is not None), key=lambda part: not self._is_inside(part))
        if not parts or not self._try(parts):
            return None
        parts = smallest(parts, self._try, self._left)
        lines = self._lines_of(parts)
        if len(lines) > len(parts) and self._try(lines):
            parts = smallest(lines, self._try, self._left)
        self.parts = parts
        words = self._words_of(parts)
        word = next((part for part in words if self._try([part])), None)
        chosen = [word] if word is not None else parts
        return undoing_of(chosen, self._kind(chosen), self._sources, self._undoing)

    def _try(self, parts: Sequence[Part]) -> bool:
        candidate = undoing_of(parts, self._kind(parts), self._sources, self._undoing) if self._left > 0 else None
        if candidate is None:
            return False
        self._left -= 1
        return self._helps(candidate)

    def _is_inside(self, part: Part) -> bool:
        units = self._undoing.units
        return any(u.source.path == part.path and u.first_line < part.first <= u.last_line for u in units)

    def _kind(self, parts: Sequence[Part]) -> str:
        if len(parts) == 1:
            return parts[0].kind
        whole = len([part for part in parts if part.kind == WHOLE])
        if whole == len(self._known):
            return "all" if len({part.path for part in parts}) > 1 else "file"
        return WHOLE if whole else LINE

    def _lines_of(self, parts: Sequence[Part]) -> List[Part]:
        chosen = {(part.path, part.first) for part in parts}
        atoms: List[Part] = []
        for hunk, source in self._known:
            whole = whole_of(hunk, source)
            if whole is not None and (whole.path, whole.first) in chosen:
                atoms += atoms_of(hunk, source)
        return atoms

    def _words_of(self, parts: Sequence[Part]) -> List[Part]:
        """The words of a change that comes down to one line."""
        if len(parts) != 1:
            return []
        line = parts[0]
        found = [part for hunk, source in self._known for part in parts_of(hunk, source)]
        return [p for p in found if p.kind == WORD and p.path == line.path and p.first in line.lines]


def confirmed(parts: Sequence[Part], scores: Dict[str, Dict[int, float]], undoing: Undoing) -> None:
    """Undoing these parts helps: their lines are the place, everything else is less suspect; changes the scores.

    Args:
        parts: What had to be undone.
        scores: Path to line to score.
        undoing: Holds the functions around.
    """
    for lines in scores.values():
        for line in lines:
            lines[line] *= ELSEWHERE
    for part in parts:
        of_file = scores.setdefault(part.path, {})
        for unit in undoing.units:
            if unit.source.path == part.path and unit.first_line <= part.first <= unit.last_line:
                for line in range(unit.first_line, unit.last_line + 1):
                    if line in of_file:
                        of_file[line] = max(of_file[line], BESIDE)
        for line in part.lines:
            of_file[line] = 1.0
