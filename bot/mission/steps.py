"""Run a stage once within its time limit, and turn expected errors into stored values."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar, cast

from pydantic import BaseModel

from bot.domain.account import Grant
from bot.domain.mission import Budget, Outcome
from bot.domain.model import ModelCall
from bot.errors import BudgetSpent, GitHubError, MetaAgentError, Paused, StoreError, Superseded
from bot.fixers.rung0_tools.locks import WHICH_LOCK
from bot.mission.failures.setup_log import LOCK_DRIFT, find_missing_part
from bot.mission.mind import Billed, Waiting
from bot.ports import Checkpoint, Clock, Meter
from sandbox.errors import HostGone, ImportRejected, SandboxDied, SandboxError, SetupFailed
from sandbox.types import Frozen

Stage = TypeVar("Stage", bound=BaseModel)

_LOG_TAIL = 1500
"""Characters of a failed set-up's log in the advice."""

_FOR_THE_TERMINAL = (
    "then run the same command again. `metaagent doctor --for terminal` says what else is missing"
)

_FOR_THE_OPERATOR = (
    "the operator of MetaAgent should look at Docker there, and at the log. "
    "Re-run the check when Docker works again"
)

_logger = logging.getLogger(__name__)


class Trouble(Frozen):
    """An expected error of a stage, which ends the mission."""

    outcome: Outcome
    reason: str
    advice: str = ""
    reference: str | None = None
    question: str | None = None


class Ended(Exception):
    """The mission has its outcome.

    Args:
        trouble: The outcome with its reason and advice.
    """

    def __init__(self, trouble: Trouble) -> None:
        super().__init__(trouble.reason)
        self.trouble = trouble


def end(outcome: Outcome, reason: str, *, advice: str = "", question: str | None = None) -> Ended:
    """Return the exception that ends the mission."""
    return Ended(Trouble(outcome=outcome, reason=reason, advice=advice, question=question))


def classify_error(
    error: SandboxError | MetaAgentError, reference: str, *, at_terminal: bool = False
) -> Trouble:
    """Classify an error: return its outcome, reason and advice.

    Args:
        error: The error of a port.
        reference: The mission and step where it happened.
        at_terminal: The reader of the outcome runs MetaAgent and needs no log line.
    """
    level = logging.INFO if at_terminal else logging.ERROR
    if isinstance(error, SetupFailed):
        log = error.log.strip()[-_LOG_TAIL:]
        advice = "\n\n".join(part for part in (error.advice, log) if part)
        part = find_missing_part(error.log)
        reason = f"{error.message.rstrip('.')}: {part}" if part else error.message
        if part == LOCK_DRIFT:
            # CI refuses it, too: the commit is incomplete, and only its author may choose versions.
            return Trouble(
                outcome=Outcome.NEEDS_HUMAN, reason=reason, advice=advice, question=WHICH_LOCK
            )
        return Trouble(outcome=Outcome.ENV_UNBUILDABLE, reason=reason, advice=advice)
    if isinstance(error, ImportRejected):
        return Trouble(outcome=Outcome.ENV_UNBUILDABLE, reason=error.message, advice=error.advice)
    if isinstance(error, BudgetSpent):
        return Trouble(outcome=Outcome.BUDGET, reason=error.message, advice=error.advice)
    if isinstance(error, Paused):
        return Trouble(outcome=Outcome.POLICY, reason=error.message, advice=error.advice)
    if isinstance(error, Superseded):
        return Trouble(outcome=Outcome.STALE, reason=error.message, advice=error.advice)
    if isinstance(error, HostGone | SandboxDied):
        innocent = ": not the fault of this repository" if isinstance(error, HostGone) else ""
        reason = f"{error.message.rstrip('.')}{innocent}"
        own = f"{error.advice.rstrip('.')}; " if error.advice else ""
        _logger.log(level, "mission ends as ERROR: %s", reason, extra={"reference": reference})
        advice = own + (_FOR_THE_TERMINAL if at_terminal else _FOR_THE_OPERATOR)
        return Trouble(outcome=Outcome.ERROR, reason=reason, advice=advice, reference=reference)
    _logger.log(level, "mission ends as ERROR: %s", error.message, extra={"reference": reference})
    return Trouble(
        outcome=Outcome.ERROR, reason=error.message, advice=error.advice, reference=reference
    )


class StepResult(Frozen, Generic[Stage]):
    """The stored result of a stage: its value or error, duration and model calls."""

    value: Stage | None = None
    trouble: Trouble | None = None
    seconds: float = 0.0
    calls: tuple[ModelCall, ...] = ()
    waiting: Waiting = Waiting()


class Steps:
    """The stages of one mission, each run once.

    Args:
        mission_id: The mission, part of every reference.
        checkpoint: Stores the values.
        clock: Measures inside the steps; code outside of them must not depend on time.
        mind: Bills the models, which are asked inside the steps.
    """

    def __init__(
        self, mission_id: str, checkpoint: Checkpoint, clock: Clock, mind: Billed | None = None
    ) -> None:
        self.mind = mind or Billed(None, Budget())
        """The models, to be asked inside steps only."""
        self.calls: tuple[ModelCall, ...] = ()
        """The stored calls of all steps so far."""
        self._mission_id = mission_id
        self._checkpoint = checkpoint
        self._clock = clock
        self.seconds = 0.0
        """The sum of the stored durations of all steps so far."""
        self.at_terminal = False
        """The reader of the outcome runs MetaAgent."""
        self.meter: Meter | None = None
        """Grants the time of every step; None leaves it to the mission's own budget."""
        self.lost: Callable[[], Awaitable[None]] | None = None
        """Called after a step lost its sandbox, before the retry."""
        self._since: float | None = None

    async def run(
        self, name: str, returns: type[Stage], call: Callable[[], Awaitable[Stage]]
    ) -> Stage:
        """Return the value of a stage, stored or computed now.

        Args:
            name: Stable and unique within the mission.
            returns: The value's type.
            call: Computes the value.

        Raises:
            Ended: the stage failed with an error that ends the mission.
        """

        async def measured() -> StepResult[Stage]:
            self.mind.take_bill()  # calls of an interrupted try
            value, trouble = None, None
            try:
                grant = await self._grant()  # may wait; waiting is not booked as time
                self._since = self._clock.monotonic()
                value = await _in_time(grant, call)
            except (SandboxError, MetaAgentError) as error:
                if await self._may_pass(error):
                    self._since = None
                    raise  # not an error of the stage yet: the checkpoint waits and retries
                trouble = self._classify(error, name)
            seconds = self._running_s()
            self._since = None
            return kind(
                value=value,
                trouble=trouble,
                seconds=seconds,
                calls=self.mind.take_bill(),
                waiting=self.mind.waiting,
            )

        # The stage's type is known at run time only, so the generic model is built here.
        kind = cast("type[StepResult[Stage]]", StepResult.__class_getitem__(returns))
        try:
            done = await self._checkpoint.step(name, kind, measured)
        # The checkpoint makes no further retry, so it is the stage's error now.
        except (GitHubError, SandboxError) as error:
            raise Ended(self._classify(error, name)) from error
        self.seconds += done.seconds
        self.calls += done.calls
        self.mind.waiting = done.waiting
        if done.trouble is not None:
            raise Ended(done.trouble)
        if done.value is None:
            raise end(Outcome.ERROR, f"the remembered step {name} holds no value")
        return done.value

    def _classify(self, error: SandboxError | MetaAgentError, name: str) -> Trouble:
        return classify_error(error, f"{self._mission_id}:{name}", at_terminal=self.at_terminal)

    async def close(self) -> None:
        """Book the time of the last step, also of an interrupted one."""
        if self.meter is None:
            return
        try:
            await self.meter.close(round(self.seconds + self._running_s(), 6))
        except StoreError as error:
            _logger.warning(
                "booking the last step's time failed: %s",
                error.message,
                extra={"mission": self._mission_id},
            )

    def _running_s(self) -> float:
        """Return the seconds of the current or interrupted step."""
        return 0.0 if self._since is None else round(self._clock.monotonic() - self._since, 6)

    async def _may_pass(self, error: SandboxError | MetaAgentError) -> bool:
        """Return True if a retry may help: GitHub or the sandbox host is away.

        Release a lost sandbox, so that the retry opens another one.
        """
        if isinstance(error, GitHubError):
            return error.retryable
        if not isinstance(error, HostGone | SandboxDied):
            return False
        if self.lost is not None:
            await self.lost()
        return True

    async def _grant(self) -> Grant:
        """Return the time limit of the next step, in seconds: the mission's rest or a lower grant.

        Raises:
            BudgetSpent: there is no time for it.
        """
        whole_s = self.mind.budget.seconds
        own = Grant(
            seconds=whole_s - self.seconds, limit=f"the time for one mission ({whole_s:.0f} s)"
        )
        if own.seconds <= 0:
            raise _over(own)
        return own if self.meter is None else await self.meter.before(self.seconds, own)


async def _in_time(grant: Grant, call: Callable[[], Awaitable[Stage]]) -> Stage:
    limit = asyncio.timeout(grant.seconds)
    try:
        async with limit:
            return await call()
    except TimeoutError as error:
        if not limit.expired():
            raise
        raise _over(grant) from error


def _over(grant: Grant) -> BudgetSpent:
    return BudgetSpent(f"{grant.limit} is spent")
