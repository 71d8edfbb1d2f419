"""Revert the diff that broke the check: hunks, parts of hunks, and the smallest sufficient set."""

from __future__ import annotations

from sandbox.guest.search.candidates.reverts.candidates import RevertContext, revert_candidates
from sandbox.guest.search.candidates.reverts.changed_tests import changes_tests
from sandbox.guest.search.candidates.reverts.delta_debugging import minimize
from sandbox.guest.search.candidates.reverts.diff import Diff, read_diff
from sandbox.guest.search.candidates.reverts.parts import DiffPart, split_hunk
from sandbox.guest.search.candidates.reverts.stage import RevertStage, focus_scores

__all__ = [
    "Diff",
    "DiffPart",
    "RevertContext",
    "RevertStage",
    "changes_tests",
    "focus_scores",
    "minimize",
    "read_diff",
    "revert_candidates",
    "split_hunk",
]
