"""The messages of the protocol: what a model's answer to each kind of question holds.

A message is not the mission's own value: a missing score stays None (unknown), and nothing in it has been weighed
against the rules. The stages make their values of it.
"""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from typing_extensions import override

from bot.domain.decision import Action, Decision, WorkerCall
from bot.domain.lesson import Insight, SuggestedImprovement
from bot.domain.plan import AcceptanceCriterion, CriterionType, PlanStep
from bot.domain.verdict import MAX_THOUGHT_PASSES, CritiqueIssue, Recommendation
from bot.llm.protocol.tidy import first_integer, score, snake, tidied
from sandbox.types import Frozen


def _adjustment(value: object) -> object:
    return score(value, low=-1.0)


def _passes(value: object) -> object:
    passes = score(value, low=1.0, high=float(MAX_THOUGHT_PASSES))
    return int(passes) if isinstance(passes, float) else passes


Score = Annotated[float | None, BeforeValidator(score)]
"""Between 0 and 1; None is unknown, and 0.0 is a score."""
Adjustment = Annotated[float | None, BeforeValidator(_adjustment)]
"""Between -1 and 1; None is unknown."""
Passes = Annotated[int | None, BeforeValidator(_passes)]
"""Of thinking; None is unknown."""
_NO = frozenset({False, "false", "no", "n", "off", "0", "f"})
"""How a model writes that something does not hold."""
Line = Annotated[int, BeforeValidator(first_integer), Field(ge=1)]


def _numbered(entries: object) -> list[tuple[int, dict[str, Any]]]:
    """Entries that are mappings, each with its place."""
    listed = entries if isinstance(entries, list) else []
    return [(number, entry) for number, entry in enumerate(listed, start=1) if isinstance(entry, dict)]


class Message(BaseModel):
    """A payload. Names may be in camel case, unknown fields are dropped, lists and texts are capped."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    type: ClassVar[str]
    """As the envelope says it."""
    types_too: ClassVar[tuple[str, ...]] = ()
    """Other names of the type."""
    opened: ClassVar[tuple[str, ...]] = ()
    """Mappings whose entries may as well stand one level deeper."""
    renamed: ClassVar[Mapping[str, str]] = {}
    """Other names of fields."""

    @model_validator(mode="before")
    @classmethod
    def _tidied(cls, value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        flat = dict(value)
        for key in [key for key in value if snake(str(key)) in cls.opened]:
            inner = flat.pop(key)
            flat = {**inner, **flat} if isinstance(inner, Mapping) else flat
        return cls._completed(tidied(cls, flat, cls.renamed), flat)

    @classmethod
    def _completed(cls, found: dict[str, Any], said: Mapping[str, Any]) -> dict[str, Any]:
        """The fields with what may be left out or stand elsewhere in `said`."""
        _ = said
        return found


class Wanted(Frozen):
    """What a model asks to be shown before it goes on."""

    files: tuple[str, ...] = ()
    symbols: tuple[str, ...] = ()
    """`Cart.total`, `parse`."""


class PlanTask(Message):
    """`plan_task`: what is to be done, and when it is done."""

    type = "plan_task"
    types_too = ("decompose",)
    opened = ("task", "plan")
    renamed: ClassVar[Mapping[str, str]] = {"id": "task_id", "criteria": "acceptance_criteria", "title": "goal"}

    task_id: str = ""
    goal: str = ""
    """Empty where the model leaves it to us."""
    steps: tuple[PlanStep, ...] = ()
    confidence: Score = None
    acceptance_criteria: tuple[AcceptanceCriterion, ...] = ()
    """None of them passed: nothing has been tried yet."""

    @override
    @classmethod
    def _completed(cls, found: dict[str, Any], said: Mapping[str, Any]) -> dict[str, Any]:
        for number, step in _numbered(found.get("steps")):
            step.setdefault("id", f"S-{number}")
            step.setdefault("order", number)
        for number, criterion in _numbered(found.get("acceptance_criteria")):
            criterion.setdefault("id", f"AC-{number}")
            criterion.setdefault("type", CriterionType.UNIT)
            criterion.setdefault("critical", False)
            criterion["denied"] = criterion.pop("passed", None) in _NO
        return found

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not (self.goal or self.steps or self.acceptance_criteria):
            raise ValueError("a plan has a goal, steps or acceptance_criteria")
        return self


class CriterionUpdate(Frozen):
    """What a model thinks of a criterion, or one it would add."""

    id: str = ""
    description: str = ""
    type: CriterionType | None = None
    critical: bool | None = None
    passed: bool | None = None
    """An opinion: of what runs decide it changes nothing."""

    @model_validator(mode="after")
    def _names_one(self) -> Self:
        if not (self.id or self.description):
            raise ValueError("a criterion has an id or a description")
        return self


class NextStep(Message):
    """`next_action`: run a worker, end, ask a person, or ask for more context."""

    type = "next_action"
    renamed: ClassVar[Mapping[str, str]] = {
        "worker": "worker_call",
        "acceptance_criteria": "updated_acceptance_criteria",
        "criteria": "updated_acceptance_criteria",
    }

    decision: Decision
    worker_call: WorkerCall | None = None
    """Only with run_worker; None also where the model named no worker."""
    updated_acceptance_criteria: tuple[CriterionUpdate, ...] = ()
    context: Wanted = Wanted()
    """With retry_with_context."""

    @override
    @classmethod
    def _completed(cls, found: dict[str, Any], said: Mapping[str, Any]) -> dict[str, Any]:
        decision = found.get("decision", said.get("action"))
        if isinstance(decision, str):
            decision = tidied(Decision, {"action": decision, "reason": said.get("reason")})
        if isinstance(decision, dict):
            decision.setdefault("reason", "")
            # Whoever is held to a schema names a worker in any case: it counts with run_worker only.
            if decision.get("action") != Action.RUN_WORKER:
                found.pop("worker_call", None)
        return found if decision is None else {**found, "decision": decision}


class SuspectNamed(Frozen):
    """A place a model suspects."""

    file: str = Field(min_length=1)
    line: Line
    score: Score = None
    reason: str = ""


class AnalyzeFailure(Message):
    """`analyze_failure`: what is broken and where."""

    type = "analyze_failure"
    opened = ("analysis", "diagnosis")
    renamed: ClassVar[Mapping[str, str]] = {"root_cause": "cause", "summary": "title"}

    title: str = ""
    cause: str = Field(min_length=1)
    reasoning: str = ""
    confidence: Score = None
    suspects: tuple[SuspectNamed, ...] = ()


class ProposeFix(Message):
    """`propose_fix`: about a change; the change itself stands outside, in edit blocks."""

    type = "propose_fix"
    types_too = ("fix",)
    opened = ("fix",)

    title: str = ""
    explanation: str = ""
    confidence: Score = None
    context: Wanted = Wanted()
    """What it would have to see to do better."""

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not (self.title or self.explanation):
            raise ValueError("a fix has a title or an explanation")
        return self


class CritiquePlan(Message):
    """`critique_plan`: a plan, scored."""

    type = "critique_plan"
    types_too = ("critique",)
    opened = ("critique", "scores")
    renamed: ClassVar[Mapping[str, str]] = {
        f"{aspect}_score": aspect for aspect in ("overall", "feasibility", "correctness", "efficiency", "safety")
    }

    overall: Score = None
    feasibility: Score = None
    correctness: Score = None
    efficiency: Score = None
    safety: Score = None
    issues: tuple[CritiqueIssue, ...] = ()
    strengths: tuple[str, ...] = ()
    suggestions: tuple[str, ...] = ()
    recommendation: Recommendation | None = None
    rationale: str = ""

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if self.overall is None and self.recommendation is None:
            raise ValueError("a critique has an overall score or a recommendation")
        return self


class CritiqueChange(Message):
    """`critique_change`: a change, scored before it is handed over."""

    type = "critique_change"
    opened = ("critique",)
    renamed: ClassVar[Mapping[str, str]] = {
        "overall": "score",
        "rationale": "justification",
        "acceptance_criteria": "updated_acceptance_criteria",
        "criteria": "updated_acceptance_criteria",
    }

    score: Score = None
    justification: str = Field(min_length=1)
    issues: tuple[str, ...] = ()
    updated_acceptance_criteria: tuple[CriterionUpdate, ...] = ()
    """Of the criteria that the model added itself: whether they hold."""


class AssessLive(Message):
    """`assess_live`: a thought, judged just after it was thought."""

    type = "assess_live"
    types_too = ("live_assessment",)
    opened = ("assessment", "live_assessment")
    renamed: ClassVar[Mapping[str, str]] = {"adjustment": "confidence_adjustment"}

    should_continue: bool
    should_deepen: bool = False
    confidence_adjustment: Adjustment = None
    feedback: str = ""


class EvaluateReasoning(Message):
    """`evaluate_reasoning`: the way from failure to plan, questioned."""

    type = "evaluate_reasoning"
    types_too = ("meta_evaluation",)
    opened = ("evaluation", "meta_evaluation")
    renamed: ClassVar[Mapping[str, str]] = {"confidence": "confidence_in_reasoning", "quality": "reasoning_quality"}

    reasoning_quality: Score = None
    confidence_in_reasoning: Score = None
    concerns: tuple[str, ...] = ()
    should_replan: bool | None = None
    should_think_deeper: bool | None = None
    passes_recommended: Passes = None
    feedback: str = ""

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        said = (self.reasoning_quality, self.confidence_in_reasoning, self.should_replan, self.should_think_deeper)
        if all(one is None for one in said):
            raise ValueError("an evaluation has a score, should_replan or should_think_deeper")
        return self


class Reflect(Message):
    """`reflect`: a finished mission, looked back at."""

    type = "reflect"
    types_too = ("reflection",)
    opened = ("reflection",)
    renamed: ClassVar[Mapping[str, str]] = {"lessons": "lessons_learned"}

    insights: tuple[Insight, ...] = ()
    lessons_learned: tuple[str, ...] = ()
    improvements: tuple[SuggestedImprovement, ...] = ()
    confidence: Score = None

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not (self.insights or self.lessons_learned or self.improvements):
            raise ValueError("a reflection has insights, lessons_learned or improvements")
        return self


MESSAGES: tuple[type[Message], ...] = (
    PlanTask,
    NextStep,
    AnalyzeFailure,
    ProposeFix,
    CritiquePlan,
    CritiqueChange,
    AssessLive,
    EvaluateReasoning,
    Reflect,
)
"""Every message there is."""
