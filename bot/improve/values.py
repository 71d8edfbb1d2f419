"""Values of self-improvement: an improvement, its evaluation, and the record of a cycle."""

from enum import StrEnum

from pydantic import Field

from sandbox.types import Frozen


class CycleStatus(StrEnum):
    """The result of one cycle."""

    SUCCESS_PROMOTED = "SUCCESS_PROMOTED"
    """The improvement was accepted and is in place."""
    SUCCESS_EVALUATED = "SUCCESS_EVALUATED"
    """The improvement was accepted, and promotion was not asked for."""
    FAILURE = "FAILURE"
    """There was nothing to improve, the improvement was rejected, or the cycle broke."""


class Improvement(Frozen):
    """One concrete improvement of one file."""

    path: str
    """The file, relative to the project."""
    title: str
    reason: str = ""
    rule: str = ""
    """The rule that proposed it; empty for a model."""
    expected_impact: str = ""

    @property
    def by(self) -> str:
        """Return `rules` or `model`."""
        return "rules" if self.rule else "model"


class Check(Frozen):
    """One check of an evaluation."""

    name: str
    """`compiles`, `self-test`, `import`, `tests`, `guard` or `critique`."""
    passed: bool
    detail: str = ""
    proves: bool = True
    """False for a check that could not run, so that it neither helps nor hurts."""


class Evaluation(Frozen):
    """The checks of one improvement and its score."""

    checks: tuple[Check, ...] = ()
    score: float | None = None
    """The critique, from 0 to 1; None if a check failed before it."""
    justification: str = ""

    @property
    def accepted(self) -> bool:
        """Return True if every check passed."""
        return bool(self.checks) and all(check.passed for check in self.checks)

    @property
    def reason(self) -> str:
        """Return the first failed check in words; empty if all passed."""
        failed = next((check for check in self.checks if not check.passed), None)
        return "" if failed is None else f"{failed.name}: {failed.detail}"


class CycleRecord(Frozen):
    """One cycle, as one line of the history."""

    id: str
    at: str
    """The start, in UTC."""
    target: str
    cycle: int = Field(ge=1)
    status: CycleStatus
    reason: str = ""
    improvement: Improvement | None = None
    evaluation: Evaluation = Evaluation()
    file: str = ""
    """The absolute path of the improved file."""
    old_sha256: str = ""
    new_sha256: str = ""
    backup: str = ""
    """The folder of the previous version."""
    notes: tuple[str, ...] = ()
    """Cut texts, a model that failed, and other facts about the run."""
    model_calls: int = 0
    cost_usd: float | None = None
    """None if the price of a call is unknown."""
    seconds: float = 0.0
