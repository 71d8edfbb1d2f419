"""The trial server as another rung may use it: candidates of any origin are tried, ranked and improved as our own."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from bot.domain.diagnosis import Diagnosis
from bot.domain.mission import MissionContext
from bot.domain.patch import Candidate, Rung
from bot.ports import Workspace
from sandbox.types import FileChange, Frozen


@dataclass(frozen=True)
class Failure:
    """What is to be mended, and where."""

    context: MissionContext
    diagnosis: Diagnosis
    workspace: Workspace
    """On the failing tree; left as it was found."""


class Proposed(Frozen):
    """A change somebody thought of."""

    id: str
    title: str
    explanation: str = ""
    changes: tuple[FileChange, ...]
    """Of the failing tree, each file once, as it is to be."""
    votes: int = 1
    """How many samples came to the same change."""
    changed_lines: int = 0
    rung: Rung = Rung.MODEL
    fixer: str = "model"
    """Who thought of it, as a candidate says it."""

    def as_candidate(self, **more: object) -> Candidate:
        """As the ladder takes it.

        Args:
            more: What is known of it besides.
        """
        plain = Candidate(
            id=self.id,
            rung=self.rung,
            fixer=self.fixer,
            title=self.title,
            explanation=self.explanation,
            changes=self.changes,
        )
        return plain.with_(**more)


class Tried(Frozen):
    """What a trial of a proposed change showed."""

    proposed: Proposed
    passes: bool
    """Every failing test passes, and none that passed fails."""
    mended: tuple[str, ...] = ()
    still_failing: tuple[str, ...] = ()
    broke: tuple[str, ...] = ()
    """As far as it is known: passing tests run only once a change mends something."""
    output: str = ""
    """What the first failing test says now, or why the change was not tried; bounded, hostile."""
    score: float | None = None
    """The rank of one that passes: as that of a searched fix, the probability that it is right."""
    candidate: Candidate | None = None
    """One that passes, as the ladder takes it: rivals, behaviours and warnings filled in. Best first."""


class Trials(Protocol):
    """Tries changes in the sandbox; the workspace is left as it was found."""

    async def try_changes(
        self, failure: Failure, proposed: Sequence[Proposed], *, time_limit_s: float
    ) -> tuple[Tried, ...]:
        """Each change tried as the search tries its own.

        One answer for each: those that pass first, ranked by one measure; then those that mend most and break least.
        """
        ...

    async def search_from(
        self, failure: Failure, start: Proposed, *, time_limit_s: float, max_candidates: int
    ) -> tuple[Tried, ...]:
        """The search, begun from a change that does not pass yet.

        Changes of the failing tree that hold the start and more: those that pass, best first; where none does, the
        first few that mend more than the start.
        """
        ...


def best_first(tried: Sequence[Tried]) -> tuple[Tried, ...]:
    """Those that pass first, likeliest first; then those that mend most and break least."""
    return tuple(sorted(tried, key=lambda t: (not t.passes, -(t.score or 0.0), len(t.broke) - len(t.mended))))
