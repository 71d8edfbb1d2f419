"""A model without server and key, with fixed answers, to demonstrate a mission."""

from bot.domain.model import Completion, Prompt

_PLAN = """\
type: plan_task
version: 1
payload:
  task_id: TASK-MOCK
  goal: Mock task
  acceptance_criteria:
    - id: AC-1
      description: Mock AC 1
      type: mock
      critical: true
"""
_RUN = """\
type: next_action
version: 1
payload:
  decision:
    action: run_worker
    reason: mock, first call
  worker_call:
    worker_type: model
    mode: exec
    prompt: Mock work
"""
_DONE = """\
type: next_action
version: 1
payload:
  decision:
    action: mark_complete
    reason: mock, a later call
"""
_OTHERS = {
    "analyze_failure": "title: Mock analysis\n  cause: mock",
    "judge_failure": "cause: mock\n  overall: 0.9\n  recommendation: approve",
    "critique_plan": "overall: 0.9\n  recommendation: approve\n  rationale: mock",
    "critique_change": (
        "score: 0.9\n  justification: mock\n  updated_acceptance_criteria:\n"
        "    - description: Mock AC 1\n      passed: true"
    ),
    "assess_live": "next: continue\n  confidence_adjustment: 0.0",
    "evaluate_reasoning": (
        "reasoning_quality: 0.9\n  confidence_in_reasoning: 0.9\n  next: proceed"
    ),
    "analyze_target": "title: Mock improvement\n  problem: mock",
    "implement_improvement": "title: Mock improvement without an edit",
    "reflect": "lessons_learned:\n    - mock",
}
_NO_EDIT = "title: Mock fix without an edit"
"""Answer to any request for a change: no edit."""


def build(options: object = None) -> "Mock":
    """Create the mock.

    Args:
        options: Not used.
    """
    del options
    return Mock()


class Mock:
    """Answers by the prompt's name: a plan, one worker run, then the end."""

    def __init__(self) -> None:
        self._decisions = 0

    @property
    def name(self) -> str:
        """`mock`."""
        return "mock"

    @property
    def can_hold_to_schema(self) -> bool:
        """Return False: it writes YAML."""
        return False

    async def complete(self, prompt: Prompt, *, deadline_s: float) -> Completion:
        """Return the fixed answer immediately, without cost."""
        del deadline_s
        name = prompt.name.partition("@")[0]
        return Completion(text=f"```yaml\n{self._message(name)}```\n", model="mock", cost_usd=0.0)

    async def close(self) -> None:
        """Do nothing; no resources are held."""

    def _message(self, name: str) -> str:
        if name == "plan_task":
            return _PLAN
        if name == "next_action":
            self._decisions += 1
            return _RUN if self._decisions == 1 else _DONE
        kind = name if name in _OTHERS else "propose_fix"
        return f"type: {kind}\nversion: 1\npayload:\n  {_OTHERS.get(kind, _NO_EDIT)}\n"
