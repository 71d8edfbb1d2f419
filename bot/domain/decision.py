"""The next action: Decision, NextAction, WorkerCall, TaskSummary."""

from enum import StrEnum
from typing import Literal, Self

from pydantic import model_validator

from bot.domain.diagnosis import By
from bot.domain.plan import AcceptanceCriterion
from sandbox.types import Frozen


class Action(StrEnum):
    """An action of the mission loop."""

    RUN_WORKER = "run_worker"
    MARK_COMPLETE = "mark_complete"
    ASK_HUMAN = "ask_human"
    ABORT = "abort"
    RETRY_WITH_CONTEXT = "retry_with_context"


class Decision(Frozen):
    """An action and its reason."""

    action: Action
    reason: str


class WorkerCall(Frozen):
    """The worker to run; only with run_worker."""

    worker_type: Literal["tools", "search", "model", "codex-cli", "claude-cli"]
    mode: Literal["exec"] = "exec"
    prompt: str = ""


class NextAction(Frozen):
    """The decision, the worker, and the current state of the criteria."""

    by: By = "rules"
    decision: Decision
    worker_call: WorkerCall | None = None
    updated_acceptance_criteria: tuple[AcceptanceCriterion, ...] = ()
    wanted: tuple[str, ...] = ()
    """With retry_with_context: files that a model asks to see."""
    held: str = ""
    """The reason for trying free rungs only: a model doubts, while the rules alone would
    continue."""

    @model_validator(mode="after")
    def _worker_only_when_run(self) -> Self:
        runs = self.decision.action is Action.RUN_WORKER
        if runs != (self.worker_call is not None):
            raise ValueError("worker_call goes with run_worker and with nothing else")
        return self


class TaskSummary(Frozen):
    """A task in brief, for prompts and dashboards."""

    title: str
    state: str
    acceptance_criteria: tuple[AcceptanceCriterion, ...] = ()
    worker_runs_count: int = 0
