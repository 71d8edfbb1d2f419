"""Plans: Plan, PlanStep, AcceptanceCriterion."""

from enum import StrEnum

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from bot.domain.diagnosis import By
from sandbox.types import Frozen


class CriterionType(StrEnum):
    """The kind of check behind a criterion."""

    UNIT = "unit"
    INTEGRATION = "integration"
    E2E = "e2e"
    LINT = "lint"
    BUILD = "build"
    MOCK = "mock"


class AcceptanceCriterion(Frozen):
    """A condition that must hold before a mission may end as fixed."""

    id: str
    """`AC-1`."""
    description: str
    type: CriterionType
    critical: bool = True
    passed: bool = False
    check: str | None = None
    """The deciding check: a test's node id, `suite`, `collected` or `paths`. None leaves the
    decision to the model that added the criterion."""
    denied: SkipJsonSchema[bool] = False
    """The model that added it reports that it does not hold. Not part of the schema sent to
    models."""


class PlanStep(Frozen):
    """One step of a plan."""

    id: str
    order: int
    description: str
    action: str
    """The worker: `tools`, `search`, `model` or `verify`."""
    parameters: dict[str, str] = Field(default_factory=dict)
    expected_outcome: str = ""
    dependencies: tuple[str, ...] = ()


class Plan(Frozen):
    """Steps towards a goal, with criteria for reaching it."""

    by: By = "rules"
    task_id: str = ""
    """The task's name as given by a model."""
    goal: str
    steps: tuple[PlanStep, ...]
    confidence: float = Field(ge=0.0, le=1.0)
    acceptance_criteria: tuple[AcceptanceCriterion, ...] = ()
    refined: bool = False
