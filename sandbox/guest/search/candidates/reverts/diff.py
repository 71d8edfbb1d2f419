"""The diff that broke the check, reduced to what the search may revert."""

from __future__ import annotations

import os
from typing import Any, Dict, Iterator, Optional, Sequence, Tuple

from sandbox.guest.search.candidates.generator import CandidatePatch
from sandbox.guest.search.candidates.reverts.candidates import RevertContext, revert_candidates
from sandbox.guest.search.candidates.reverts.changed_tests import changes_tests, locate_tests
from sandbox.guest.search.candidates.reverts.stage import RevertStage, Trial, focus_scores
from sandbox.guest.search.source.functions import Unit
from sandbox.guest.search.source.plain import PlainSource
from sandbox.guest.search.source.render import SourceFile

MAX_BYTES = 2_000_000


class Diff:
    """The diff that broke the check.

    Args:
        hunks: Its hunks; see `sandbox.types.RedHunk`.
        sources: The files that it changed and that may be edited.
        undoing: The functions to edit, and whether it changed the failing tests.
    """

    def __init__(
        self,
        hunks: Tuple[Dict[str, Any], ...],
        sources: Dict[str, SourceFile],
        undoing: RevertContext,
    ) -> None:
        self._hunks = hunks
        self._sources = sources
        self._undoing = undoing
        self._has_helped = False

    @property
    def changed_tests(self) -> bool:
        """Return True if the diff changed the failing tests, too."""
        return self._undoing.changed_tests

    def stage(self, helps: Trial) -> Optional[RevertStage]:
        """Return the stage that tries reverts, or None without a change.

        If the tests changed too, they probably need the change. Then the first trial says so.
        """
        if not self._sources:
            return None
        return RevertStage(self._hunks, self._sources, self._undoing, helps)

    def confirm(self, undo: RevertStage, scores: Dict[str, Dict[int, float]]) -> None:
        """Raise the suspiciousness of the lines whose revert helped."""
        self._has_helped = True
        focus_scores(undo.parts, scores, self._undoing)

    def candidates(self) -> Iterator[CandidatePatch]:
        """Yield reverts; once one has helped, only those of parts of lines."""
        for candidate in revert_candidates(self._hunks, self._sources, self._undoing):
            # The stage already found the smallest larger revert.
            if not self._has_helped or candidate.template == "undo_part":
                yield candidate


def read_diff(
    hunks: Tuple[Dict[str, Any], ...], files: Any, goals: Sequence[str], units: Sequence[Unit]
) -> Diff:
    """Return the diff of a search.

    Args:
        hunks: The hunks of the diff; see `sandbox.types.RedHunk`.
        files: The files of the checkout that may be edited.
        goals: Names of the failing tests.
        units: The functions to edit.
    """

    def read(path: str) -> Optional[bytes]:
        try:
            with open(os.path.join(files.root, path), "rb") as file:
                return file.read(MAX_BYTES)
        except OSError:
            return None

    sources: Dict[str, SourceFile] = {}
    for path in dict.fromkeys(str(hunk["path"]) for hunk in hunks):
        data = read(path) if files.editable(path) else None
        if data is not None:
            sources[path] = PlainSource(path, data)
    tests = locate_tests(list(goals), read) if hunks else ()
    return Diff(hunks, sources, RevertContext(tuple(units), changes_tests(hunks, tests)))
