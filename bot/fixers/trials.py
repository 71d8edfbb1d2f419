"""Trials of candidates from any rung: tried, ranked and improved like the search's own."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, Self

from bot.domain.diagnosis import Diagnosis
from bot.domain.mission import MissionContext
from bot.domain.patch import Candidate, Rung
from bot.ports import Workspace
from sandbox.types import FileChange, Frozen

UNCOMPARED = 0.4
"""Score of a change that passes a plain run but could not be compared with others."""


@dataclass(frozen=True)
class Failure:
    """The failure to fix, and its workspace."""

    context: MissionContext
    diagnosis: Diagnosis
    workspace: Workspace
    """On the failing tree; left unchanged."""


class Proposed(Frozen):
    """A proposed change of any origin."""

    id: str
    title: str
    explanation: str = ""
    changes: tuple[FileChange, ...]
    """Changes of the failing tree, each file once with its new content."""
    votes: int = 1
    """Number of samples with the same change."""
    changed_lines: int = 0
    rung: Rung = Rung.MODEL
    fixer: str = "model"
    """Name of the fixer, as shown in a candidate."""
    template: str = "given"
    """Its kind. Changes of different kinds that behave alike count as agreement."""

    def as_candidate(self, **more: object) -> Candidate:
        """Convert it to a candidate of the ladder.

        Args:
            more: Further fields of the candidate.
        """
        plain = Candidate(
            id=self.id,
            rung=self.rung,
            fixer=self.fixer,
            template=self.template,
            title=self.title,
            explanation=self.explanation,
            changes=self.changes,
        )
        return plain.with_(**more)

    @classmethod
    def from_candidate(cls, candidate: Candidate) -> Self:
        """Return a candidate of another rung as a proposed change, to compare others with it."""
        return cls(
            id=candidate.id,
            title=candidate.title,
            explanation=candidate.explanation,
            changes=candidate.changes,
            rung=candidate.rung,
            fixer=candidate.fixer,
            # A model's candidate names the model there.
            template="given" if candidate.rung is Rung.MODEL else candidate.template or "given",
        )


class Tried(Frozen):
    """Result of trying a proposed change."""

    proposed: Proposed
    passes: bool
    """True if every failing test passes and no passing test fails."""
    mended: tuple[str, ...] = ()
    still_failing: tuple[str, ...] = ()
    broke: tuple[str, ...] = ()
    """Tests known to break; passing tests run only if the change fixes something."""
    output: str = ""
    """Output of the first failing test, or the reason why the change was not tried. Bounded;
    untrusted."""
    score: float | None = None
    """Rank of a passing change: the probability that it is right, as for searched fixes."""
    candidate: Candidate | None = None
    """The passing change as a candidate, with rivals, behaviours and warnings."""


class Trials(Protocol):
    """Tries changes in the sandbox; the workspace is left unchanged."""

    async def try_changes(
        self,
        failure: Failure,
        proposed: Sequence[Proposed],
        *,
        time_limit_s: float,
        rivals: Sequence[Proposed] = (),
    ) -> tuple[Tried, ...]:
        """Try each change like a candidate of the search.

        Return one result for each: passing ones first by rank, then those that fix most and break
        least.

        Args:
            failure: The failure to fix.
            proposed: Changes to try.
            time_limit_s: Limit for the whole call, in seconds.
            rivals: Changes known to pass. They are compared with each other and with the passing
                changes, not tried again. Each rival that was compared gets a result, too.
        """
        ...

    async def search_from(
        self, failure: Failure, start: Proposed, *, time_limit_s: float, max_candidates: int
    ) -> tuple[Tried, ...]:
        """Search from a change that does not pass yet.

        Return changes of the failing tree that include the start: passing ones, best first. If none
        passes, return the first few that fix more than the start. None is confident: only
        `try_changes` compares and ranks whole changes.
        """
        ...


def rank_again(candidate: Candidate, compared: Candidate) -> Candidate:
    """Return a candidate with the results of a later comparison with more rivals.

    Args:
        candidate: The candidate as its own rung proposed it.
        compared: The same change as ranked in the later comparison.
    """
    return candidate.with_(
        score=compared.score,
        confident=compared.confident,
        ranked=compared.ranked,
        plausible=compared.plausible,
        behaviours=compared.behaviours,
        rivals=compared.rivals,
        warnings=tuple(dict.fromkeys((*candidate.warnings, *compared.warnings))),
        inputs=compared.inputs,
        mutants=compared.mutants or candidate.mutants,
    )


def best_first(tried: Sequence[Tried]) -> tuple[Tried, ...]:
    """Sort passing changes first by score, then those that fix most and break least."""
    return tuple(
        sorted(tried, key=lambda t: (not t.passes, -(t.score or 0.0), len(t.broke) - len(t.mended)))
    )
