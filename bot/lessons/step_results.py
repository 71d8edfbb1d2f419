"""The steps of a finished mission with their results and durations, for its reflection. Pure."""

from collections.abc import Iterator

from bot.domain.counted import counted
from bot.domain.lesson import StepResult
from bot.domain.mission import Iteration, MissionContext
from sandbox.gate import clean

MOST = 40
RESULT_CHARS = 160
"""Length of a result, in characters."""


def list_steps(context: MissionContext) -> tuple[StepResult, ...]:
    """Return the steps of a mission in order, with gated texts.

    Args:
        context: The finished mission.
    """
    found = list(_triage(context))
    for iteration in context.iterations:
        found += _of_iteration(iteration)
    return tuple(found[:MOST])


def _triage(context: MissionContext) -> Iterator[StepResult]:
    if context.triage is not None:
        triage = context.triage
        yield _step("triage", f"{triage.kind}: {triage.reason}, {counted(triage.runs, 'run')}")


def _of_iteration(iteration: Iteration) -> Iterator[StepResult]:
    """Yield the stages that an iteration reached."""
    if iteration.diagnosis is not None:
        found = iteration.diagnosis
        yield _step("analyze", f"{found.title} (confidence {found.confidence:.2f})")
    if iteration.plan is not None:
        steps = counted(len(iteration.plan.steps), "step")
        yield _step("plan", f"{steps} (confidence {iteration.plan.confidence:.2f})")
    if iteration.critique is not None:
        critique = iteration.critique
        yield _step("critique", f"{critique.recommendation} ({critique.overall:.2f})")
    if iteration.next_action is not None:
        decision = iteration.next_action.decision
        yield _step("decide", f"{decision.action}: {decision.reason}")
    if iteration.attempt is not None:
        attempt = iteration.attempt
        tried = counted(attempt.candidates_tried, "candidate")
        found_some = counted(len(attempt.candidates), "fix", plural="fixes")
        yield _step("fix", f"{found_some} of {tried}", attempt.seconds)
    if iteration.verification is not None:
        yield _step("verify", iteration.verification.reason, iteration.verification.seconds)


def _step(name: str, result: str, seconds: float | None = None) -> StepResult:
    text = " ".join(clean(result, cap=RESULT_CHARS).split())
    return StepResult(name=name, result=text, seconds=seconds)
