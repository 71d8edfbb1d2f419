"""A change that was thought of, what its trial showed, and how changes are told apart and compared."""

import hashlib
from dataclasses import dataclass

from bot.fixers.rung2_model.edits import EditsRead
from bot.fixers.trials import Proposed, Tried
from sandbox.changes import Concern
from sandbox.types import FileChange


@dataclass(frozen=True)
class Work:
    """A change that was thought of, and what its trial showed."""

    proposed: Proposed
    tried: Tried
    flags: tuple[Concern, ...] = ()
    searched: bool = False
    """The search made it of a model's change."""

    @property
    def passes(self) -> bool:
        """Whether every failing test passes with it."""
        return self.tried.passes

    @property
    def is_sure(self) -> bool:
        """Whether it passes, and nothing that passes too speaks against it."""
        return self.tried.candidate is not None and self.tried.candidate.confident

    @property
    def helps(self) -> bool:
        """Whether it mends a part and breaks nothing."""
        return bool(self.tried.mended) and not self.tried.broke

    @property
    def untold(self) -> bool:
        """Whether the trial came to no end: nothing is known of it."""
        tried = self.tried
        return not (tried.passes or tried.mended or tried.still_failing or tried.broke)


@dataclass(frozen=True)
class Answer:
    """A model's answer as it was read."""

    text: str
    read: EditsRead
    work: Work | None = None
    """None when it came to no change."""


def joined(base: tuple[FileChange, ...], changes: tuple[FileChange, ...]) -> tuple[FileChange, ...]:
    """Both, each file once: what was changed later holds what was changed before."""
    edited = {change.path for change in changes}
    return (*changes, *(change for change in base if change.path not in edited))


def identity(changes: tuple[FileChange, ...]) -> str:
    """Names some changes by all of their text."""
    text = "\n".join(sorted(change.model_dump_json() for change in changes))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def distance(work: Work) -> tuple[int, int]:
    """How far a change is from passing."""
    return len(work.tried.broke) - len(work.tried.mended), work.proposed.changed_lines
