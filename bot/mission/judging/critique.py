"""CRITIC: score the plan before it is executed."""

from collections.abc import Callable, Collection
from pathlib import PurePosixPath

from bot.domain.plan import Plan, PlanStep
from bot.domain.verdict import (
    APPROVE_FROM,
    REVISE_FROM,
    Critique,
    CritiqueIssue,
    IssueCategory,
    Recommendation,
    Severity,
)

WORKERS = frozenset({"tools", "search", "model", "codex-cli", "claude-cli", "verify"})
"""All worker names that a step's `action` may have."""

_WITHOUT_ISSUES = 0.9
_FLOOR = 0.3
_PER_ISSUE = 0.2
_DIGITS = 9


def quick_score(issues: int) -> float:
    """Return 0.9 without an issue, and 0.2 less for each, down to 0.3."""
    return round(
        _WITHOUT_ISSUES if issues == 0 else max(_FLOOR, _WITHOUT_ISSUES - _PER_ISSUE * issues),
        _DIGITS,
    )


def recommend(overall: float) -> Recommendation:
    """Return the recommendation: approve from 0.8, revise from 0.6, reject below."""
    if overall >= APPROVE_FROM:
        return Recommendation.APPROVE
    return Recommendation.REVISE if overall >= REVISE_FROM else Recommendation.REJECT


def critique_plan(
    plan: Plan,
    *,
    workers: Collection[str] = WORKERS,
    is_protected: Callable[[str], bool] = lambda _: False,
) -> Critique:
    """Score a plan by every issue that is visible without reading the code.

    Args:
        plan: The plan.
        workers: The available workers.
        is_protected: Returns True for a path that must not be edited.
    """
    issues = (
        *_empty(plan),
        *_circular(plan),
        *(issue for step in plan.steps for issue in _unknown_worker(step, workers)),
        *(issue for step in plan.steps for issue in _bad_paths(step, is_protected)),
    )
    overall = quick_score(len(issues))
    return Critique(
        overall=overall,
        feasibility=_part(issues, IssueCategory.FEASIBILITY, IssueCategory.COMPLETENESS),
        correctness=_part(issues, IssueCategory.LOGIC),
        efficiency=_part(issues, IssueCategory.EFFICIENCY),
        safety=_part(issues, IssueCategory.SAFETY),
        issues=issues,
        strengths=_strengths(plan),
        suggestions=tuple(dict.fromkeys(issue.suggestion for issue in issues if issue.suggestion)),
        recommendation=recommend(overall),
        rationale=f"{len(issues)} issue{'s' * (len(issues) != 1)} found by quick validation",
    )


def _part(issues: tuple[CritiqueIssue, ...], *categories: IssueCategory) -> float:
    """Return the score of one aspect, computed as in `quick_score`."""
    return quick_score(sum(issue.category in categories for issue in issues))


def _strengths(plan: Plan) -> tuple[str, ...]:
    """Return the plan's strengths."""
    strengths = (
        (
            any(s.action == "verify" for s in plan.steps),
            "ends with a verification in a fresh workspace",
        ),
        (bool(plan.acceptance_criteria), "says when it has succeeded"),
    )
    return tuple(words for applies, words in strengths if applies)


def _empty(plan: Plan) -> tuple[CritiqueIssue, ...]:
    """Report a plan without steps."""
    if plan.steps:
        return ()
    return (
        CritiqueIssue(
            severity=Severity.HIGH,
            category=IssueCategory.COMPLETENESS,
            description="the plan has no steps",
            suggestion="name at least one worker that applies to this failure",
        ),
    )


def _circular(plan: Plan) -> tuple[CritiqueIssue, ...]:
    """Report steps that wait for each other."""
    waiting = {
        step.id: {d for d in step.dependencies if d in {s.id for s in plan.steps}}
        for step in plan.steps
    }
    # Kahn's topological sort; what is left when no step is ready forms a cycle.
    while ready := {name for name, needs in waiting.items() if not needs}:
        waiting = {name: needs - ready for name, needs in waiting.items() if name not in ready}
    if not waiting:
        return ()
    return (
        CritiqueIssue(
            severity=Severity.CRITICAL,
            category=IssueCategory.LOGIC,
            description=f"steps wait for each other: {', '.join(sorted(waiting))}",
            suggestion="order the steps so that each depends on earlier ones only",
            affected_steps=tuple(sorted(waiting)),
        ),
    )


def _unknown_worker(step: PlanStep, workers: Collection[str]) -> tuple[CritiqueIssue, ...]:
    """Report a step that no worker can execute."""
    if step.action in workers:
        return ()
    return (
        CritiqueIssue(
            severity=Severity.HIGH,
            category=IssueCategory.FEASIBILITY,
            description=f"step {step.id} names the unknown worker {step.action!r}",
            suggestion=f"use one of {', '.join(sorted(workers))}",
            affected_steps=(step.id,),
        ),
    )


def _bad_paths(step: PlanStep, is_protected: Callable[[str], bool]) -> tuple[CritiqueIssue, ...]:
    """Report paths of a step that are outside the checkout or protected."""
    issues = []
    for path in _paths(step):
        if is_outside(path):
            severity, what = (
                Severity.CRITICAL,
                f"step {step.id} names a path outside the checkout: {path!r}",
            )
        elif is_protected(path):
            severity, what = Severity.HIGH, f"step {step.id} names a protected path: {path!r}"
        else:
            continue
        issues.append(
            CritiqueIssue(
                severity=severity,
                category=IssueCategory.SAFETY,
                description=what,
                suggestion="edit source files of the checkout only",
                affected_steps=(step.id,),
            )
        )
    return tuple(issues)


def _paths(step: PlanStep) -> tuple[str, ...]:
    """Return the paths in a step's parameters: `path`, and `paths` with one a line."""
    named = [step.parameters.get("path", ""), *step.parameters.get("paths", "").splitlines()]
    return tuple(path for path in (n.strip() for n in named) if path)


def is_outside(path: str) -> bool:
    """Return True if a path leaves the checkout on any system, or enters its git folder."""
    # Windows separators and drive letters count too: a model may write either form.
    clean = path.replace("\\", "/")
    parts = PurePosixPath(clean).parts
    return (
        clean.startswith(("/", "~"))
        or ":" in clean
        or ".." in parts
        or "\0" in clean
        or ".git" in parts
    )
