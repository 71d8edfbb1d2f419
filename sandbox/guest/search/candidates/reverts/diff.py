"""The red diff as a search knows it: which files it may undo, which functions, whether the failing tests ask for it."""

from __future__ import annotations

import os
from typing import Any, Dict, Iterator, NamedTuple, Optional, Tuple

from sandbox.guest.search.candidates.generator import Candidate
from sandbox.guest.search.candidates.reverts.asking import asks_for_change, places_of
from sandbox.guest.search.candidates.reverts.offers import Undoing, revert_candidates
from sandbox.guest.search.candidates.reverts.stage import Trial, Undo, confirmed
from sandbox.guest.search.source.plain import PlainSource
from sandbox.guest.search.source.render import Source

MOST_BYTES = 2_000_000


class Diff(NamedTuple):
    """What turned the check red."""

    hunks: Tuple[Dict[str, Any], ...]
    sources: Dict[str, Source]
    undoing: Undoing

    def stage(self, helps: Trial) -> Optional[Undo]:
        """What to try first, unless the failing tests ask for the change."""
        if not self.sources or self.undoing.asked_for:
            return None
        return Undo(self.hunks, self.sources, self.undoing, helps)

    def confirm(self, undo: Undo, scores: Dict[str, Dict[int, float]]) -> None:
        """Undoing something helped: that is where to look."""
        confirmed(undo.parts, scores, self.undoing)

    def candidates(self, *, only_parts: bool) -> Iterator[Candidate]:
        """What can be undone; only parts of lines, when the stage has found something larger."""
        for candidate in revert_candidates(self.hunks, self.sources, self.undoing):
            if not only_parts or candidate.template == "undo_part":
                yield candidate


def diff_of(known: Any) -> Diff:
    """The diff of a search.

    Args:
        known: Its situation.
    """
    hunks = tuple(known.request.red_hunks)

    def read(path: str) -> Optional[bytes]:
        try:
            with open(os.path.join(known.root, path), "rb") as file:
                return file.read(MOST_BYTES)
        except OSError:
            return None

    sources: Dict[str, Source] = {}
    for path in dict.fromkeys(str(hunk["path"]) for hunk in hunks):
        data = read(path) if known.editable(path) else None
        if data is not None:
            sources[path] = PlainSource(path, data)
    tests = places_of(list(known.goals), read) if hunks else ()
    return Diff(hunks, sources, Undoing(tuple(known.units), asks_for_change(hunks, tests)))
