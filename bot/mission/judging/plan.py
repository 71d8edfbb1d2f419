"""PLAN: from diagnosis to steps and acceptance criteria."""

from collections.abc import Collection

from bot.domain.diagnosis import Diagnosis
from bot.domain.patch import Rung
from bot.domain.plan import AcceptanceCriterion, CriterionType, Plan, PlanStep
from bot.domain.verdict import Critique
from bot.mission.judging.criteria import CHECK_COLLECTED, CHECK_PATHS, CHECK_SUITE
from sandbox.types import StepKind, TestReport, WorkspaceFacts

_WORKER_OF = {Rung.TOOLS: "tools", Rung.SEARCH: "search", Rung.MODEL: "model"}
_CONFIDENCE = {"tools": 0.9, "search": 0.8, "model": 0.7}
_NOTHING_APPLIES = 0.2
_UNLOCATED = 0.1
_CRITERIA = 50
"""Maximum number of tests with a criterion of their own; the suite's criterion covers the rest."""
_LINTING = {StepKind.LINT, StepKind.FORMAT}


def plan_fix(
    diagnosis: Diagnosis, report: TestReport, facts: WorkspaceFacts, rungs: Collection[Rung]
) -> Plan:
    """Plan the fix for a diagnosis: a step for each rung, and the verification at the end.

    Args:
        diagnosis: The diagnosis.
        report: The red run, with every failing test by name.
        facts: The kind of the failed step.
        rungs: Rungs that apply to this run and are allowed here.
    """
    lint = facts.recipe.kind in _LINTING or report.traits.is_findings
    workers = [_WORKER_OF[rung] for rung in sorted(rungs)]
    what = {
        "tools": "let the tool that complains repair what it can",
        "search": (
            "search for the smallest change of the suspect lines that makes the failing tests pass"
        ),
        "model": "ask a language model for edits",
    }
    files = sorted({suspect.file for suspect in diagnosis.suspects})[:10]
    return Plan(
        goal=f"make `{facts.recipe.command}` pass: {diagnosis.title}",
        steps=_steps(workers, what, "\n".join(files)),
        confidence=max((_confidence(w, diagnosis) for w in workers), default=_NOTHING_APPLIES),
        acceptance_criteria=_criteria(report, lint=lint),
    )


def _confidence(worker: str, diagnosis: Diagnosis) -> float:
    """Return the confidence in a worker. The search can locate a fault itself."""
    located = worker != "search" or bool(diagnosis.suspects)
    return round(_CONFIDENCE[worker] - (0.0 if located else _UNLOCATED), 9)


def _steps(workers: list[str], what: dict[str, str], paths: str) -> tuple[PlanStep, ...]:
    """Return the workers' steps in order, then the verification."""
    if not workers:
        return ()
    steps = [
        PlanStep(
            id=f"S-{number}",
            order=number,
            description=what[worker],
            action=worker,
            parameters={"paths": paths} if paths and worker != "tools" else {},
            expected_outcome="a candidate change, or the reason why there is none",
            dependencies=(f"S-{number - 1}",) if number > 1 else (),
        )
        for number, worker in enumerate(workers, start=1)
    ]
    last = len(workers) + 1
    steps.append(
        PlanStep(
            id=f"S-{last}",
            order=last,
            description="verify the candidate in a fresh workspace",
            action="verify",
            expected_outcome="every acceptance criterion is met",
            dependencies=tuple(step.id for step in steps),
        )
    )
    return tuple(steps)


def _criteria(report: TestReport, *, lint: bool) -> tuple[AcceptanceCriterion, ...]:
    """Return a criterion for every failing test, the suite, the collected set and the paths."""
    named = [] if lint or not report.knows_tests else sorted(report.failing)[:_CRITERIA]
    wanted = [(f"{name} passes", CriterionType.UNIT, name) for name in named]
    wanted += [
        (
            f"`{report.target}` passes, twice",
            CriterionType.LINT if lint else CriterionType.INTEGRATION,
            CHECK_SUITE,
        ),
        (
            "no test disappears and none is newly skipped",
            CriterionType.INTEGRATION,
            CHECK_COLLECTED,
        ),
        ("only allowed paths are edited", CriterionType.LINT, CHECK_PATHS),
    ]
    return tuple(
        AcceptanceCriterion(id=f"AC-{number}", description=description, type=kind, check=check)
        for number, (description, kind, check) in enumerate(wanted, start=1)
    )


def refine_plan(plan: Plan, critique: Critique, rungs: Collection[Rung]) -> Plan:
    """Return the plan changed according to a critique; this happens once only.

    Steps that the critique objects to are dropped.

    Args:
        plan: The criticised plan.
        critique: Its issues and suggestions.
        rungs: Rungs that are allowed here.
    """
    objected = {step for issue in critique.issues for step in issue.affected_steps}
    kept = [step for step in plan.steps if step.id not in objected and step.action != "verify"]
    workers = list(dict.fromkeys(step.action for step in kept)) or [
        # The critique objects to every step: keep the workers and drop their parameters.
        worker
        for worker in dict.fromkeys(step.action for step in plan.steps)
        if worker in {_WORKER_OF[rung] for rung in rungs}
    ]
    what = {step.action: step.description for step in plan.steps}
    return plan.with_(steps=_steps(workers, what, ""), refined=True)
