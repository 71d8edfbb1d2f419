"""Runs a stage once, measures it, and turns expected trouble into a value that can be remembered."""

import logging
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar, cast

from pydantic import BaseModel

from bot.domain.mission import Budget, Outcome
from bot.domain.model import ModelCall
from bot.errors import GitHubError, MetaAgentError, Superseded
from bot.mission.mind import Billed, Waiting
from bot.mission.setup_log import missing_of
from bot.ports import Checkpoint, Clock
from sandbox.errors import ImportRejected, SandboxError, SetupFailed
from sandbox.types import Frozen

Stage = TypeVar("Stage", bound=BaseModel)

_LOG_TAIL = 1500
"""Characters of a failed set-up's log that go into the advice."""

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


def trouble_of(error: SandboxError | MetaAgentError, reference: str) -> Trouble:
    """What an error means for the mission.

    Args:
        error: What a port raised.
        reference: Where it happened: mission and step.
    """
    if isinstance(error, SetupFailed):
        log = error.log.strip()[-_LOG_TAIL:]
        advice = "\n\n".join(part for part in (error.advice, log) if part)
        part = missing_of(error.log)
        reason = f"{error.message.rstrip('.')}: {part}" if part else error.message
        return Trouble(outcome=Outcome.ENV_UNBUILDABLE, reason=reason, advice=advice)
    if isinstance(error, ImportRejected):
        return Trouble(outcome=Outcome.ENV_UNBUILDABLE, reason=error.message, advice=error.advice)
    if isinstance(error, Superseded):
        return Trouble(outcome=Outcome.STALE, reason=error.message, advice=error.advice)
    _logger.error("mission ends as ERROR: %s", error.message, extra={"reference": reference})
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
            started = self._clock.monotonic()
            self.mind.take_bill()  # of a try that was broken off
            value, trouble = None, None
            try:
                value = await call()
            except (SandboxError, MetaAgentError) as error:
                if isinstance(error, GitHubError) and error.retryable:
                    raise  # not the stage's trouble yet: the checkpoint waits and tries again
                trouble = trouble_of(error, f"{self._mission_id}:{name}")
            seconds = round(self._clock.monotonic() - started, 6)
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
        except GitHubError as error:
            raise Ended(trouble_of(error, f"{self._mission_id}:{name}")) from error
        self.seconds += done.seconds
        self.calls += done.calls
        self.mind.waiting = done.waiting
        if done.trouble is not None:
            raise Ended(done.trouble)
        if done.value is None:
            raise end(Outcome.ERROR, f"the remembered step {name} holds no value")
        return done.value
