"""Messages of the protocol: a model's answer to each kind of question.

A message is not a domain value: a missing score is None (unknown), and nothing has been validated
against the rules. The stages convert messages to domain values.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator
from typing_extensions import override

from bot.domain.decision import Action, Decision, WorkerCall
from bot.domain.lesson import Insight, SuggestedImprovement
from bot.domain.plan import AcceptanceCriterion, CriterionType, PlanStep
from bot.domain.verdict import CritiqueIssue, Recommendation
from bot.llm.protocol.tidy import normalize, snake
from bot.llm.protocol.values import NO, Adjustment, Line, Passes, Score, read_booleans
from sandbox.types import Frozen


def _number(entries: object) -> list[tuple[int, dict[str, Any]]]:
    """Return the entries that are mappings, with their positions from 1."""
    listed = entries if isinstance(entries, list) else []
    return [
        (number, entry) for number, entry in enumerate(listed, start=1) if isinstance(entry, dict)
    ]


class Message(BaseModel):
    """Base of payloads.

    Names may be in camel case, unknown fields are dropped, and lists and texts are capped.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    type: ClassVar[str]
    """Name of the type in the envelope."""
    types_too: ClassVar[tuple[str, ...]] = ()
    """Other names of the type."""
    opened: ClassVar[tuple[str, ...]] = ()
    """Fields whose mapping is merged into the payload."""
    renamed: ClassVar[Mapping[str, str]] = {}
    """Other names of fields."""

    @model_validator(mode="before")
    @classmethod
    def _tidy(cls, value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        flat = dict(value)
        for key in [key for key in value if snake(str(key)) in cls.opened]:
            inner = flat.pop(key)
            flat = {**inner, **flat} if isinstance(inner, Mapping) else flat
        return cls._complete(normalize(cls, flat, cls.renamed), flat)

    @classmethod
    def _complete(cls, found: dict[str, Any], payload: Mapping[str, Any]) -> dict[str, Any]:
        """Fill in fields that may be missing, or elsewhere in `payload`."""
        _ = payload
        return found


class Wanted(Frozen):
    """Files and symbols that a model asks to see."""

    files: tuple[str, ...] = ()
    symbols: tuple[str, ...] = ()
    """Names such as `Cart.total` or `parse`."""


class PlanTask(Message):
    """`plan_task`: a goal, steps and acceptance criteria."""

    type = "plan_task"
    types_too = ("decompose",)
    opened = ("task", "plan")
    renamed: ClassVar[Mapping[str, str]] = {
        "id": "task_id",
        "criteria": "acceptance_criteria",
        "title": "goal",
    }

    task_id: str = ""
    goal: str = ""
    """Empty if the model leaves it to us."""
    steps: tuple[PlanStep, ...] = ()
    confidence: Score = None
    acceptance_criteria: tuple[AcceptanceCriterion, ...] = ()
    """None of them passed, because nothing has been tried yet."""

    @override
    @classmethod
    def _complete(cls, found: dict[str, Any], payload: Mapping[str, Any]) -> dict[str, Any]:
        for number, step in _number(found.get("steps")):
            step.setdefault("id", f"S-{number}")
            step.setdefault("order", number)
        for number, criterion in _number(found.get("acceptance_criteria")):
            criterion.setdefault("id", f"AC-{number}")
            criterion.setdefault("type", CriterionType.UNIT)
            criterion.setdefault("critical", False)
            criterion["denied"] = criterion.pop("passed", None) in NO
        return found

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not (self.goal or self.steps or self.acceptance_criteria):
            raise ValueError("a plan has a goal, steps or acceptance_criteria")
        return self


class CriterionUpdate(Frozen):
    """A model's opinion on a criterion, or a new criterion."""

    id: str = ""
    description: str = ""
    type: CriterionType | None = None
    critical: bool | None = None
    passed: bool | None = None
    """An opinion. It has no effect on criteria decided by runs."""

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
    """Set only with run_worker; None also if the model named no worker."""
    updated_acceptance_criteria: tuple[CriterionUpdate, ...] = ()
    context: Wanted = Wanted()
    """Set with retry_with_context."""

    @override
    @classmethod
    def _complete(cls, found: dict[str, Any], payload: Mapping[str, Any]) -> dict[str, Any]:
        decision = found.get("decision", payload.get("action"))
        if isinstance(decision, str):
            decision = normalize(Decision, {"action": decision, "reason": payload.get("reason")})
        if isinstance(decision, dict):
            decision.setdefault("reason", "")
            # With a strict schema, a model always names a worker; it counts only with run_worker.
            if decision.get("action") != Action.RUN_WORKER:
                found.pop("worker_call", None)
        return found if decision is None else {**found, "decision": decision}


class SuspectNamed(Frozen):
    """A place that a model suspects."""

    file: str = Field(min_length=1)
    line: Line
    score: Score = None
    reason: str = ""


class AnalyzeFailure(Message):
    """`analyze_failure`: cause and suspects of a failure."""

    type = "analyze_failure"
    opened: ClassVar[tuple[str, ...]] = ("analysis", "diagnosis")
    renamed: ClassVar[Mapping[str, str]] = {"root_cause": "cause", "summary": "title"}

    title: str = ""
    cause: str = Field(min_length=1)
    reasoning: str = ""
    confidence: Score = None
    suspects: tuple[SuspectNamed, ...] = ()


class JudgeFailure(AnalyzeFailure):
    """`judge_failure`: analysis, plan and critique of a failure in one answer."""

    type = "judge_failure"
    opened = ("judgement", "analysis", "diagnosis", "plan", "critique")

    goal: str = ""
    plan_confidence: Score = None
    overall: Score = None
    """The score of the plan as a critic gives it."""
    issues: tuple[CritiqueIssue, ...] = ()
    recommendation: Recommendation | None = None
    rationale: str = ""


class ProposeFix(Message):
    """`propose_fix`: description of a change. The change is sent separately, in edit blocks."""

    type = "propose_fix"
    types_too = ("fix",)
    opened = ("fix",)

    title: str = ""
    explanation: str = ""
    confidence: Score = None
    context: Wanted = Wanted()
    """Context that would help the model to do better."""

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not (self.title or self.explanation):
            raise ValueError("a fix has a title or an explanation")
        return self


class CritiquePlan(Message):
    """`critique_plan`: scores of a plan."""

    type = "critique_plan"
    types_too = ("critique",)
    opened = ("critique", "scores")
    renamed: ClassVar[Mapping[str, str]] = {
        f"{aspect}_score": aspect
        for aspect in ("overall", "feasibility", "correctness", "efficiency", "safety")
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
    """`critique_change`: score of a change before it is delivered."""

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
    """Status of the criteria that the model added itself."""


class AssessLive(Message):
    """`assess_live`: assessment of a thought immediately after it."""

    type = "assess_live"
    types_too = ("live_assessment",)
    opened = ("assessment", "live_assessment")
    renamed: ClassVar[Mapping[str, str]] = {"adjustment": "confidence_adjustment"}

    next: Literal["stop", "continue", "deepen"]
    confidence_adjustment: Adjustment = None
    feedback: str = ""

    @override
    @classmethod
    def _complete(cls, found: dict[str, Any], payload: Mapping[str, Any]) -> dict[str, Any]:
        goes_on, deepens = read_booleans(payload, "should_continue", "should_deepen")
        if goes_on is not None:
            found.setdefault("next", "stop" if not goes_on else "deepen" if deepens else "continue")
        return found


class EvaluateReasoning(Message):
    """`evaluate_reasoning`: assessment of the reasoning from failure to plan."""

    type = "evaluate_reasoning"
    types_too = ("meta_evaluation",)
    opened = ("evaluation", "meta_evaluation")
    renamed: ClassVar[Mapping[str, str]] = {
        "confidence": "confidence_in_reasoning",
        "quality": "reasoning_quality",
    }

    reasoning_quality: Score = None
    confidence_in_reasoning: Score = None
    concerns: tuple[str, ...] = ()
    next: Literal["proceed", "think_deeper", "replan"] | None = None
    passes_recommended: Passes = None
    feedback: str = ""

    @override
    @classmethod
    def _complete(cls, found: dict[str, Any], payload: Mapping[str, Any]) -> dict[str, Any]:
        replans, deepens = read_booleans(payload, "should_replan", "should_think_deeper")
        if replans or deepens:
            found.setdefault("next", "replan" if replans else "think_deeper")
        elif (replans, deepens) == (False, False):
            found.setdefault("next", "proceed")
        return found

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        answers = (self.reasoning_quality, self.confidence_in_reasoning, self.next)
        if all(one is None for one in answers):
            raise ValueError("an evaluation has a score or next")
        return self


class Reflect(Message):
    """`reflect`: review of a finished mission."""

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


class AnalyzeTarget(Message):
    """`analyze_target`: one concrete improvement of a file that is not red."""

    type = "analyze_target"
    opened = ("analysis", "improvement")
    renamed: ClassVar[Mapping[str, str]] = {"reason": "problem", "impact": "expected_impact"}

    title: str = Field(min_length=1)
    problem: str = ""
    change: str = ""
    expected_impact: str = ""
    confidence: Score = None


class ImplementImprovement(Message):
    """`implement_improvement`: description of a change, which is sent in edit blocks."""

    type = "implement_improvement"
    opened = ("improvement",)

    title: str = ""
    explanation: str = ""
    confidence: Score = None

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not (self.title or self.explanation):
            raise ValueError("an improvement has a title or an explanation")
        return self


MESSAGES: tuple[type[Message], ...] = (
    PlanTask,
    NextStep,
    AnalyzeFailure,
    JudgeFailure,
    ProposeFix,
    CritiquePlan,
    CritiqueChange,
    AssessLive,
    EvaluateReasoning,
    Reflect,
    AnalyzeTarget,
    ImplementImprovement,
)
"""All message types."""
