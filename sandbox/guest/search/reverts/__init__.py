"""Undoing what turned the check red: hunks of the diff, parts of them, several together, the smallest that helps."""

from __future__ import annotations

from sandbox.guest.search.reverts.offers import Undoing, revert_candidates
from sandbox.guest.search.reverts.parts import Part, parts_of
from sandbox.guest.search.reverts.smallest import smallest

__all__ = ["Part", "Undoing", "parts_of", "revert_candidates", "smallest"]
