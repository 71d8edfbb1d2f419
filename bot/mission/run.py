"""One active mission: its ports, steps and context; every stage passes through here."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pydantic import BaseModel

from bot.domain.counted import counted
from bot.domain.mission import Budget, Iteration, MissionContext, MissionState, Outcome
from bot.domain.model import Judging, ModelCall, total
from bot.domain.policy import Limits
from bot.mission.failures.look_at import look_at
from bot.mission.mind import Billed
from bot.mission.steps import Steps, Trouble
from bot.ports import Checkpoint, Clock, Fixer, Meter, Mind, OpenWorkspace, Progress, Recall
from sandbox.types import Checkout, Frozen

Stage = TypeVar("Stage", bound=BaseModel)
Judged = TypeVar("Judged", bound=Frozen)

_STATES = {
    "fix": MissionState.RUNNING,
    "verify": MissionState.VALIDATING,
    "choices": MissionState.VALIDATING,
}
"""The mission's state during a stage; every other stage belongs to planning."""


@dataclass(frozen=True)
class MissionPorts:
    """External dependencies of a mission."""

    open_workspace: OpenWorkspace
    fixers: tuple[Fixer, ...]
    recall: Recall
    checkpoint: Checkpoint
    progress: Progress
    clock: Clock
    limits: Limits = field(default_factory=Limits)
    mind: Mind | None = None
    """The models of this mission; None leaves every judgement to the rules."""
    meter: Meter | None = None
    """Books the mission's time; None without limits across missions."""


class Run:
    """The mutable state of a mission.

    Args:
        context: The context at the start.
        checkout: The failing commit.
        ports: External dependencies.
        steps: Stores the stages.
    """

    def __init__(
        self, context: MissionContext, checkout: Checkout, ports: MissionPorts, steps: Steps
    ) -> None:
        self.context = context
        self.checkout = checkout
        self.ports = ports
        self._steps = steps
        self._completed = 0

    @property
    def steps(self) -> Steps:
        """Return the stored stages."""
        return self._steps

    @property
    def mind(self) -> Billed:
        """Return the models, to be asked inside stages only."""
        return self._steps.mind

    async def stage(
        self,
        name: str,
        returns: type[Stage],
        call: Callable[[], Awaitable[Stage]],
        *,
        detail: str = "",
    ) -> Stage:
        """Run a stage of the current iteration once, and report its progress.

        Args:
            name: The stage: `analyze`, `verify-2`.
            returns: Its value's type.
            call: Computes the value.
            detail: Detail for the progress listener.

        Raises:
            Ended: the stage failed.
        """
        # `verify-2` and `critique-again` are shown as `verify` and `critique`.
        kind = name.split("-", maxsplit=1)[0]
        self.know(state=_STATES.get(kind, MissionState.PLANNING))

        async def told() -> Stage:
            # Inside the step: a replay must not reopen a completed check run.
            await self.ports.progress.stage(self.context, kind, detail)
            return await call()

        known = len(self._steps.calls)
        try:
            return await self._steps.run(
                f"iteration-{len(self.context.iterations)}/{name}", returns, told
            )
        finally:
            self.bill(self._steps.calls[known:])

    async def judge(
        self,
        name: str,
        returns: type[Judged],
        call: Callable[[], Judged],
        by_model: Callable[[Mind, Judged], Awaitable[Judged]] | None = None,
    ) -> Judged:
        """Run a judging stage by its rules, and by a model if one judges in every stage.

        Args:
            name: The stage.
            returns: Its value's type.
            call: Computes the value by rules; not called for a stored value.
            by_model: Computes it by a model, given the rules' value.
        """

        async def judged() -> Judged:
            if by_model is None or self.mind.judging is not Judging.ALWAYS:
                return call()
            return await self.mind.or_rules(call(), by_model)

        return await self.stage(name, returns, judged)

    def bill(self, calls: tuple[ModelCall, ...]) -> None:
        """Book calls of models on this mission.

        Args:
            calls: The calls with their cost.
        """
        if calls:
            self.know(calls=(*self.context.calls, *calls))
        self._count()

    def know(self, **fields: Any) -> None:
        """Add facts to the context."""
        self.context = self.context.with_(**fields)

    def begin_iteration(self) -> None:
        """Start an iteration."""
        number = len(self.context.iterations) + 1
        self.know(iterations=(*self.context.iterations, Iteration(number=number)))
        self._count()

    def end_iteration(self) -> None:
        """End the iteration; the loop may continue if the budget allows."""
        self._completed = len(self.context.iterations)
        self._count()

    def note(self, **fields: Any) -> None:
        """Add a finished stage to the current iteration."""
        *earlier, current = self.context.iterations
        self.know(iterations=(*earlier, current.with_(**fields)))

    def finish(self, trouble: Trouble) -> MissionContext:
        """Return the context with its outcome; a later failure keeps the partial fix."""
        self.end_iteration()
        outcome, reason = trouble.outcome, trouble.reason
        fix = self.context.fix
        # Any other outcome (a flake, a question, an error) says more than a partial fix.
        if fix and fix[1].partial and outcome in {Outcome.NO_FIX, Outcome.BUDGET}:
            outcome, reason = Outcome.PARTIAL, f"{fix[1].reason}; then {reason}"
        return self.context.ended(
            outcome,
            reason,
            advice=trouble.advice or (look_at(self.context) if outcome is Outcome.NO_FIX else ""),
            question=trouble.question,
            error_reference=trouble.reference,
            seconds=round(self._steps.seconds, 3),
            cost_usd=self.context.budget.spent_usd,
        )

    def _count(self) -> None:
        """Update the budget from stored values only."""
        iterations = self.context.iterations
        climbs = [i.attempt for i in iterations if i.attempt]
        # Costs that a rung reports without its calls count too.
        unnamed = sum(max(0.0, climb.cost_usd - total(climb.calls).cost_usd) for climb in climbs)
        spent = total(self.context.calls).cost_usd + unnamed
        budget = self.context.budget.with_(
            spent_iterations=self._completed,
            spent_seconds=round(self._steps.seconds, 6),
            spent_usd=round(spent, 6),
        )
        self.know(budget=budget)
        self.mind.budget = budget


def what_is_spent(budget: Budget) -> str:
    """Return the exhausted part of the budget, in words.

    Args:
        budget: One that does not allow another iteration.
    """
    if budget.spent_seconds >= budget.seconds:
        return f"the time for one mission is spent ({budget.seconds:.0f} s)"
    return f"no fix after {counted(budget.iterations, 'iteration')}"
