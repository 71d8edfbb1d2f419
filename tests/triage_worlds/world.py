"""One world: a base commit, a failing commit, what CI said, and how a mission on it must end."""

from dataclasses import dataclass, field

from bot.domain.mission import Outcome
from sandbox.types import LogReading

COMMAND = "python -m pytest -q"
BUG = frozenset({Outcome.FIXED, Outcome.PARTIAL, Outcome.NO_FIX})
"""Whatever the ladder makes of it: triage let it through."""


@dataclass(frozen=True)
class World:
    """A repository made at run time.

    Attributes:
        name: Unique.
        kind: What is wrong with it: `bug`, `flake`, `base red`, ...
        expected: Every outcome that is right.
        head: Files of the failing commit, on top of the base's; None deletes one.
        base: Files of the base commit; None makes the failing commit the first one.
        command: The failing command.
        ci_log: What CI's log says.
        rate: Of a flake, the chance to fail in one run.
        says: Words the reason, the advice or a note must have.
        merge: Files of the merge with the base branch, on top of the head's; None when CI tests the head itself.
        python: The Python the job wants.
        workflow: The job to rebuild, instead of a command given from outside.
        limits: Other limits than usual.
    """

    name: str
    kind: str
    expected: frozenset[Outcome]
    head: dict[str, str | None]
    base: dict[str, str] | None = field(default_factory=dict)
    command: str | None = COMMAND
    ci_log: LogReading | None = None
    rate: float | None = None
    says: str = ""
    merge: dict[str, str] | None = None
    python: str | None = None
    workflow: str | None = None
    limits: dict[str, float] = field(default_factory=dict)

    @property
    def called(self) -> str:
        """The outcome that is right, as a row of the confusion matrix."""
        return "BUG" if self.expected & BUG else " or ".join(sorted(self.expected))
