"""The diff that broke the check, reduced to what the search may revert."""

from __future__ import annotations

import os
from typing import Any, Dict, Iterator, NamedTuple, Optional, Tuple

from sandbox.guest.search.candidates.generator import CandidatePatch
from sandbox.guest.search.candidates.reverts.candidates import RevertContext, revert_candidates
from sandbox.guest.search.candidates.reverts.changed_tests import changes_tests, locate_tests
from sandbox.guest.search.candidates.reverts.stage import RevertStage, Trial, focus_scores
from sandbox.guest.search.source.plain import PlainSource
from sandbox.guest.search.source.render import SourceFile

MAX_BYTES = 2_000_000


class Diff(NamedTuple):
    """The diff that broke the check."""

    hunks: Tuple[Dict[str, Any], ...]
    sources: Dict[str, SourceFile]
    undoing: RevertContext

    def stage(self, helps: Trial) -> Optional[RevertStage]:
        """Return the stage that tries reverts, or None if the failing tests need the change."""
        if not self.sources or self.undoing.changed_tests:
            return None
        return RevertStage(self.hunks, self.sources, self.undoing, helps)

    def confirm(self, undo: RevertStage, scores: Dict[str, Dict[int, float]]) -> None:
        """Raise the suspiciousness of the lines whose revert helped."""
        focus_scores(undo.parts, scores, self.undoing)

    def candidates(self, *, only_parts: bool) -> Iterator[CandidatePatch]:
        """Yield reverts; with `only_parts`, only those of parts of lines."""
        for candidate in revert_candidates(self.hunks, self.sources, self.undoing):
            # The stage already found the smallest larger revert.
            if not only_parts or candidate.template == "undo_part":
                yield candidate


def read_diff(context: Any) -> Diff:
    """Return the diff of a search.

    Args:
        context: Context of the search.
    """
    hunks = tuple(context.request.red_hunks)

    def read(path: str) -> Optional[bytes]:
        try:
            with open(os.path.join(context.root, path), "rb") as file:
                return file.read(MAX_BYTES)
        except OSError:
            return None

    sources: Dict[str, SourceFile] = {}
    for path in dict.fromkeys(str(hunk["path"]) for hunk in hunks):
        data = read(path) if context.editable(path) else None
        if data is not None:
            sources[path] = PlainSource(path, data)
    tests = locate_tests(list(context.goals), read) if hunks else ()
    return Diff(hunks, sources, RevertContext(tuple(context.units), changes_tests(hunks, tests)))
