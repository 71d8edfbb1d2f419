"""Runs a stage once, within its time, measures it, and turns expected trouble into a value that can be remembered."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar, cast

from pydantic import BaseModel

from bot.domain.account import Grant
from bot.domain.mission import Budget, Outcome
from bot.domain.model import ModelCall
from bot.errors import BudgetSpent, GitHubError, MetaAgentError, Paused, StoreError, Superseded
from bot.mission.mind import Billed, Waiting
from bot.mission.setup_log import missing_of
from bot.ports import Checkpoint, Clock, Meter
from sandbox.errors import HostGone, ImportRejected, SandboxDied, SandboxError, SetupFailed
from sandbox.types import Frozen

Stage = TypeVar("Stage", bound=BaseModel)

_LOG_TAIL = 1500
"""Characters of a failed set-up's log that go into the advice."""

_FOR_THE_TERMINAL = "then run the same command again. `metaagent doctor --for terminal` says what else is missing"

_FOR_THE_OPERATOR = (
    "whoever runs MetaAgent looks at Docker there, and at the log. Re-run the check when it is well again"
)

_logger = logging.getLogger(__name__)


class Trouble(Frozen):
    """Why a stage could not give its value; ends the mission."""

    outcome: Outcome
    reason: str
    advice: str = ""
    reference: str | None = None
    question: str | None = None


class Ended(Exception):
    """The mission has its outcome.

    Args:
        trouble: The outcome and what goes with it.
    """

    def __init__(self, trouble: Trouble) -> None:
        super().__init__(trouble.reason)
        self.trouble = trouble


def end(outcome: Outcome, reason: str, *, advice: str = "", question: str | None = None) -> Ended:
    """What to raise so that the mission ends here."""
    return Ended(Trouble(outcome=outcome, reason=reason, advice=advice, question=question))


def trouble_of(error: SandboxError | MetaAgentError, reference: str, *, at_terminal: bool = False) -> Trouble:
    """What an error means for the mission.

    Args:
        error: What a port raised.
        reference: Where it happened: mission and step.
        at_terminal: Whether the person who reads the outcome runs MetaAgent, and needs no log line beside it.
    """
    level = logging.INFO if at_terminal else logging.ERROR
    if isinstance(error, SetupFailed):
        log = error.log.strip()[-_LOG_TAIL:]
        advice = "\n\n".join(part for part in (error.advice, log) if part)
        part = missing_of(error.log)
        reason = f"{error.message.rstrip('.')}: {part}" if part else error.message
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
    return Trouble(outcome=Outcome.ERROR, reason=error.message, advice=error.advice, reference=reference)


class Done(Frozen, Generic[Stage]):
    """A stage's value or its trouble, how long it took and what models were asked: what a checkpoint remembers."""

    value: Stage | None = None
    trouble: Trouble | None = None
    seconds: float = 0.0
    calls: tuple[ModelCall, ...] = ()
    waiting: Waiting = Waiting()


class Steps:
    """The stages of one mission, each run once.

    Args:
        mission_id: Part of every reference.
        checkpoint: Remembers the values.
        clock: Measures inside the steps; nothing outside them knows the time.
        mind: Bills the models that are asked inside the steps.
    """

    def __init__(self, mission_id: str, checkpoint: Checkpoint, clock: Clock, mind: Billed | None = None) -> None:
        self.mind = mind or Billed(None, Budget())
        """Asked inside steps only."""
        self.calls: tuple[ModelCall, ...] = ()
        """The remembered calls of all steps so far."""
        self._mission_id = mission_id
        self._checkpoint = checkpoint
        self._clock = clock
        self.seconds = 0.0
        """The remembered durations of all steps so far, added up."""
        self.at_terminal = False
        """Whether the person who reads the outcome runs MetaAgent."""
        self.meter: Meter | None = None
        """Asked before every step how long it may take; None leaves it to the mission's own budget."""
        self.lost: Callable[[], Awaitable[None]] | None = None
        """Called when the sandbox went away under a step, before that is tried again."""
        self._since: float | None = None

    async def run(self, name: str, returns: type[Stage], call: Callable[[], Awaitable[Stage]]) -> Stage:
        """The value of a stage, remembered or made now.

        Args:
            name: Stable and unique within the mission.
            returns: The value's type.
            call: Makes the value.

        Raises:
            Ended: the stage met trouble that ends the mission.
        """

        async def measured() -> Done[Stage]:
            self.mind.take_bill()  # of a try that was broken off
            value, trouble = None, None
            try:
                grant = await self._granted()  # may wait: that is nobody's time
                self._since = self._clock.monotonic()
                value = await _in_time(grant, call)
            except (SandboxError, MetaAgentError) as error:
                if await self._may_pass(error):
                    self._since = None
                    raise  # not the stage's trouble yet: the checkpoint waits and tries again
                trouble = self._trouble_of(error, name)
            seconds = self._running_s()
            self._since = None
            return kind(
                value=value,
                trouble=trouble,
                seconds=seconds,
                calls=self.mind.take_bill(),
                waiting=self.mind.waiting,
            )

        kind = cast("type[Done[Stage]]", Done.__class_getitem__(returns))
        try:
            done = await self._checkpoint.step(name, kind, measured)
        except (GitHubError, SandboxError) as error:
            raise Ended(self._trouble_of(error, name)) from error
        self.seconds += done.seconds
        self.calls += done.calls
        self.mind.waiting = done.waiting
        if done.trouble is not None:
            raise Ended(done.trouble)
        if done.value is None:
            raise end(Outcome.ERROR, f"the remembered step {name} holds no value")
        return done.value

    def _trouble_of(self, error: SandboxError | MetaAgentError, name: str) -> Trouble:
        return trouble_of(error, f"{self._mission_id}:{name}", at_terminal=self.at_terminal)

    async def close(self) -> None:
        """Nothing comes any more; also of a step that was broken off the time is booked."""
        if self.meter is None:
            return
        try:
            await self.meter.close(round(self.seconds + self._running_s(), 6))
        except StoreError as error:
            _logger.warning("not everything is booked: %s", error.message, extra={"mission": self._mission_id})

    def _running_s(self) -> float:
        """Of the step under way, or broken off."""
        return 0.0 if self._since is None else round(self._clock.monotonic() - self._since, 6)

    async def _may_pass(self, error: SandboxError | MetaAgentError) -> bool:
        """Whether trying again later may help: GitHub is away, or what gives sandboxes; the old sandbox is let go."""
        if isinstance(error, GitHubError):
            return error.retryable
        if not isinstance(error, HostGone | SandboxDied):
            return False
        if self.lost is not None:
            await self.lost()
        return True

    async def _granted(self) -> Grant:
        """How long the next step may take: what the mission has left, or less where a limit leaves less.

        Raises:
            BudgetSpent: there is no time for it.
        """
        whole_s = self.mind.budget.seconds
        own = Grant(seconds=whole_s - self.seconds, limit=f"the time for one mission ({whole_s:.0f} s)")
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
