"""What we intend to do: Plan, PlanStep, AcceptanceCriterion."""

from enum import StrEnum

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from bot.domain.diagnosis import By
from sandbox.types import Frozen


class CriterionType(StrEnum):
    """How a criterion is checked."""

    UNIT = "unit"
    INTEGRATION = "integration"
    E2E = "e2e"
    LINT = "lint"
    BUILD = "build"
    MOCK = "mock"


class AcceptanceCriterion(Frozen):
    """Something that must hold before a mission may end as fixed."""

    id: str
    """`AC-1`."""
    description: str
    type: CriterionType
    critical: bool = True
    passed: bool = False
    check: str | None = None
    """A test's node id, `suite`, `collected` or `paths` decides; None leaves it to the model that added it."""
    denied: SkipJsonSchema[bool] = False
    """The model that added it says that it does not hold. Never asked of a model in this form."""


class PlanStep(Frozen):
    """One step of a plan."""

    id: str
    order: int
    description: str
    action: str
    """`tools`, `search`, `model` or `verify`: which worker does it."""
    parameters: dict[str, str] = Field(default_factory=dict)
    expected_outcome: str = ""
    dependencies: tuple[str, ...] = ()


class Plan(Frozen):
    """Steps to a goal, with criteria that say when it is reached."""

    by: By = "rules"
    task_id: str = ""
    """The task's name, as a model gave it."""
    goal: str
    steps: tuple[PlanStep, ...]
    confidence: float = Field(ge=0.0, le=1.0)
    acceptance_criteria: tuple[AcceptanceCriterion, ...] = ()
    refined: bool = False
