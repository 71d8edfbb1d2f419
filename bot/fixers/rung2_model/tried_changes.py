"""Proposed changes with their trial results, and their comparison."""

import hashlib
from dataclasses import dataclass

from bot.fixers.rung2_model.edits import EditsRead
from bot.fixers.trials import Proposed, Tried
from sandbox.changes import Concern
from sandbox.types import FileChange


@dataclass(frozen=True)
class TriedChange:
    """A proposed change and the result of its trial."""

    proposed: Proposed
    tried: Tried
    flags: tuple[Concern, ...] = ()
    searched: bool = False
    """True if the search extended a model's change."""

    @property
    def passes(self) -> bool:
        """Return True if every failing test passes with it."""
        return self.tried.passes

    @property
    def is_sure(self) -> bool:
        """Return True if it passes and no rival speaks against it."""
        return self.tried.candidate is not None and self.tried.candidate.confident

    @property
    def seeks_agreement(self) -> bool:
        """Return True if it passes and is ranked, but only other answers could make it sure."""
        candidate = self.tried.candidate
        ranked = self.passes and candidate is not None and candidate.ranked
        return ranked and not (self.is_sure or self.flags or self.searched)

    @property
    def helps(self) -> bool:
        """Return True if it fixes some tests and breaks none."""
        return bool(self.tried.mended) and not self.tried.broke

    @property
    def untold(self) -> bool:
        """Return True if the trial did not finish, so that nothing is known."""
        tried = self.tried
        return not (tried.passes or tried.mended or tried.still_failing or tried.broke)


@dataclass(frozen=True)
class ParsedAnswer:
    """A model's answer after parsing."""

    text: str
    read: EditsRead
    work: TriedChange | None = None
    """None if it contained no usable change."""


def merge_changes(
    base: tuple[FileChange, ...], changes: tuple[FileChange, ...]
) -> tuple[FileChange, ...]:
    """Combine changes, each file once; later changes already include earlier ones."""
    edited = {change.path for change in changes}
    return (*changes, *(change for change in base if change.path not in edited))


def hash_changes(changes: tuple[FileChange, ...]) -> str:
    """Return a hash of the changes' complete text."""
    text = "\n".join(sorted(change.model_dump_json() for change in changes))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def distance(work: TriedChange) -> tuple[int, int]:
    """Return a sort key: how far a change is from passing."""
    return len(work.tried.broke) - len(work.tried.mended), work.proposed.changed_lines
