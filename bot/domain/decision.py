"""The next action: Decision, NextAction, WorkerCall, TaskSummary."""

from enum import StrEnum
from typing import Literal, Self

from pydantic import model_validator

from bot.domain.diagnosis import By
from bot.domain.plan import AcceptanceCriterion
from sandbox.types import Frozen


class Action(StrEnum):
    """What to do next."""

    RUN_WORKER = "run_worker"
    MARK_COMPLETE = "mark_complete"
    ASK_HUMAN = "ask_human"
    ABORT = "abort"
    RETRY_WITH_CONTEXT = "retry_with_context"


class Decision(Frozen):
    """An action and why."""

    action: Action
    reason: str


class WorkerCall(Frozen):
    """Which worker to run; only with run_worker."""

    worker_type: Literal["tools", "search", "model", "codex-cli", "claude-cli"]
    mode: Literal["exec"] = "exec"
    prompt: str = ""


class NextAction(Frozen):
    """The decision, the worker, and the criteria as they stand."""

    by: By = "rules"
    decision: Decision
    worker_call: WorkerCall | None = None
    updated_acceptance_criteria: tuple[AcceptanceCriterion, ...] = ()
    wanted: tuple[str, ...] = ()
    """With retry_with_context: files a model asks to be shown."""
    held: str = ""
    """Why only what costs nothing is tried: a model doubts, where the rules alone would go on."""

    @model_validator(mode="after")
    def _worker_only_when_run(self) -> Self:
        runs = self.decision.action is Action.RUN_WORKER
        if runs != (self.worker_call is not None):
            raise ValueError("worker_call goes with run_worker and with nothing else")
        return self


class TaskSummary(Frozen):
    """A task in one line, for prompts and dashboards."""

    title: str
    state: str
    acceptance_criteria: tuple[AcceptanceCriterion, ...] = ()
    worker_runs_count: int = 0
