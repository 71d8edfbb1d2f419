"""One mission while it runs: its ports, its steps, and the context as it stands; every stage passes through here."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pydantic import BaseModel

from bot.domain.mission import Budget, Iteration, MissionContext, MissionState, Outcome
from bot.domain.model import ModelCall, total
from bot.domain.policy import Limits
from bot.mission.look_at import look_at
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
"""The state of a mission during a stage; every other stage is a part of planning."""


@dataclass(frozen=True)
class MissionPorts:
    """Everything a mission needs from outside."""

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
    """Books its time; None where nothing limits several missions together."""


class Run:
    """The one thing of a mission that changes: where it stands.

    Args:
        context: As it begins.
        checkout: The failing commit.
        ports: Everything from outside.
        steps: Remembers the stages.
    """

    def __init__(self, context: MissionContext, checkout: Checkout, ports: MissionPorts, steps: Steps) -> None:
        self.context = context
        self.checkout = checkout
        self.ports = ports
        self._steps = steps
        self._completed = 0

    @property
    def steps(self) -> Steps:
        """The remembered stages."""
        return self._steps

    @property
    def mind(self) -> Billed:
        """The models, to be asked inside stages only."""
        return self._steps.mind

    async def stage(
        self, name: str, returns: type[Stage], call: Callable[[], Awaitable[Stage]], *, detail: str = ""
    ) -> Stage:
        """Run a stage of the current iteration once, and tell whoever listens.

        Args:
            name: The stage: `analyze`, `verify-2`.
            returns: Its value's type.
            call: Makes the value.
            detail: For the listener.

        Raises:
            Ended: the stage met trouble.
        """
        kind = name.split("-", maxsplit=1)[0]
        self.know(state=_STATES.get(kind, MissionState.PLANNING))

        async def told() -> Stage:
            # Inside the step, so that a replay tells nobody again: a check run that is completed stays completed.
            await self.ports.progress.stage(self.context, kind, detail)
            return await call()

        known = len(self._steps.calls)
        try:
            return await self._steps.run(f"iteration-{len(self.context.iterations)}/{name}", returns, told)
        finally:
            self.bill(self._steps.calls[known:])

    async def judge(
        self,
        name: str,
        returns: type[Judged],
        call: Callable[[], Judged],
        by_model: Callable[[Mind, Judged], Awaitable[Judged]] | None = None,
    ) -> Judged:
        """Run a judging stage: by its rules, and by its model form where there is one and a model too.

        Args:
            name: The stage.
            returns: Its value's type.
            call: Makes the value by rules; not called when it is remembered.
            by_model: Makes it by a model, beside what the rules say.
        """

        async def judged() -> Judged:
            return call() if by_model is None else await self.mind.or_rules(call(), by_model)

        return await self.stage(name, returns, judged)

    def bill(self, calls: tuple[ModelCall, ...]) -> None:
        """Models were asked for this mission.

        Args:
            calls: What that cost.
        """
        if calls:
            self.know(calls=(*self.context.calls, *calls))
        self._count()

    def know(self, **fields: Any) -> None:
        """The context knows more than before."""
        self.context = self.context.with_(**fields)

    def begin_iteration(self) -> None:
        """Turn the loop once more."""
        number = len(self.context.iterations) + 1
        self.know(iterations=(*self.context.iterations, Iteration(number=number)))
        self._count()

    def end_iteration(self) -> None:
        """The iteration is spent, and the loop may turn again if the budget allows it."""
        self._completed = len(self.context.iterations)
        self._count()

    def note(self, **fields: Any) -> None:
        """The current iteration has one more stage behind it."""
        *earlier, current = self.context.iterations
        self.know(iterations=(*earlier, current.with_(**fields)))

    def finish(self, trouble: Trouble) -> MissionContext:
        """The context with its outcome; what was partly mended is not lost to a later failure."""
        self.end_iteration()
        outcome, reason = trouble.outcome, trouble.reason
        fix = self.context.fix
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
        """Bring the budget up to date from remembered values only."""
        iterations = self.context.iterations
        climbs = [i.attempt for i in iterations if i.attempt]
        # What a rung spent without naming its calls counts too.
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
    """Which part of the budget is spent, in words.

    Args:
        budget: One that does not allow another iteration.
    """
    if budget.spent_seconds >= budget.seconds:
        return f"the time for one mission is spent ({budget.seconds:.0f} s)"
    return f"no fix after {budget.iterations} iterations"
