"""The first stage of a search: test whether reverting the change helps, and minimize the revert."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence

from sandbox.guest.search.candidates.generator import CandidatePatch
from sandbox.guest.search.candidates.reverts.candidates import RevertContext, revert_parts
from sandbox.guest.search.candidates.reverts.delta_debugging import minimize
from sandbox.guest.search.candidates.reverts.parts import (
    LINE,
    WHOLE,
    WORD,
    DiffPart,
    hunk_lines,
    hunk_part,
    split_hunk,
)
from sandbox.guest.search.source.render import SourceFile

MAX_TRIALS = 60
"""Maximum reverts tried; each one runs the failing tests."""
ELSEWHERE = 0.7
"""Factor for the suspiciousness of all other lines after a revert helped."""
BESIDE = 0.85
"""Minimum suspiciousness of other lines in the same function."""
Trial = Callable[[CandidatePatch], bool]


class RevertStage:
    """Searches for the smallest part of the diff whose revert makes the failing tests pass.

    Args:
        hunks: The diff; see `sandbox.types.RedHunk`.
        sources: The editable files, with their current content.
        undoing: Context of the diff.
        helps: Returns True if a candidate fixes all failing tests and breaks no other test it runs.
    """

    def __init__(
        self,
        hunks: Sequence[Mapping[str, Any]],
        sources: Mapping[str, SourceFile],
        undoing: RevertContext,
        helps: Trial,
    ) -> None:
        self._known = [
            (hunk, sources[str(hunk["path"])]) for hunk in hunks if str(hunk["path"]) in sources
        ]
        self._sources = sources
        self._undoing = undoing
        self._helps = helps
        self._left = MAX_TRIALS
        self.parts: List[DiffPart] = []
        """The minimal parts to revert."""

    def run(self) -> Optional[CandidatePatch]:
        """Return the smallest revert found, or None if a full revert does not help."""
        wholes = [hunk_part(hunk, source) for hunk, source in self._known]
        # Code that can be swapped into live functions is tried a hundred times faster than an
        # import.
        parts = sorted(
            (part for part in wholes if part is not None),
            key=lambda part: not self._is_inside(part),
        )
        if not parts or not self._try(parts):
            return None
        # First over whole hunks, then over the lines of the hunks that remain.
        parts = minimize(parts, self._try, self._left)
        lines = self._split_into_lines(parts)
        if len(lines) > len(parts) and self._try(lines):
            parts = minimize(lines, self._try, self._left)
        self.parts = parts
        words = self._split_into_words(parts)
        # A part of the line keeps most of the author's change.
        word = next((part for part in words if self._try([part])), None)
        chosen = [word] if word is not None else parts
        return revert_parts(chosen, self._kind(chosen), self._sources, self._undoing)

    def _try(self, parts: Sequence[DiffPart]) -> bool:
        candidate = (
            revert_parts(parts, self._kind(parts), self._sources, self._undoing)
            if self._left > 0
            else None
        )
        if candidate is None:
            return False
        self._left -= 1
        return self._helps(candidate)

    def _is_inside(self, part: DiffPart) -> bool:
        units = self._undoing.units
        return any(
            u.source.path == part.path and u.first_line < part.first <= u.last_line for u in units
        )

    def _kind(self, parts: Sequence[DiffPart]) -> str:
        if len(parts) == 1:
            return parts[0].kind
        whole = len([part for part in parts if part.kind == WHOLE])
        if whole == len(self._known):
            return "all" if len({part.path for part in parts}) > 1 else "file"
        return WHOLE if whole else LINE

    def _split_into_lines(self, parts: Sequence[DiffPart]) -> List[DiffPart]:
        chosen = {(part.path, part.first) for part in parts}
        atoms: List[DiffPart] = []
        for hunk, source in self._known:
            whole = hunk_part(hunk, source)
            if whole is not None and (whole.path, whole.first) in chosen:
                atoms += hunk_lines(hunk, source)
        return atoms

    def _split_into_words(self, parts: Sequence[DiffPart]) -> List[DiffPart]:
        """Return the words of a change that is confined to one line."""
        if len(parts) != 1:
            return []
        line = parts[0]
        found = [part for hunk, source in self._known for part in split_hunk(hunk, source)]
        return [
            p for p in found if p.kind == WORD and p.path == line.path and p.first in line.lines
        ]


def focus_scores(
    parts: Sequence[DiffPart], scores: Dict[str, Dict[int, float]], undoing: RevertContext
) -> None:
    """Update the scores after a revert helped: raise these lines, lower all others.

    Args:
        parts: The reverted parts.
        scores: Scores by path and line, changed in place.
        undoing: Context with the enclosing functions.
    """
    for lines in scores.values():
        for line in lines:
            # The mistake may still lie elsewhere, so other lines keep some suspiciousness.
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
