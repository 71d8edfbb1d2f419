"""Undoing what turned the check red: hunks of the diff, parts of them, several together, the smallest that helps."""

from __future__ import annotations

from sandbox.guest.search.candidates.reverts.asking import asks_for_change
from sandbox.guest.search.candidates.reverts.diff import Diff, diff_of
from sandbox.guest.search.candidates.reverts.offers import Undoing, revert_candidates
from sandbox.guest.search.candidates.reverts.parts import Part, parts_of
from sandbox.guest.search.candidates.reverts.smallest import smallest
from sandbox.guest.search.candidates.reverts.stage import Undo, confirmed

__all__ = [
    "Diff",
    "Part",
    "Undo",
    "Undoing",
    "asks_for_change",
    "confirmed",
    "diff_of",
    "parts_of",
    "revert_candidates",
    "smallest",
]
