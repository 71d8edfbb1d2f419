"""A model that answers every stage's question well, and checks on the way that each prompt can be rendered."""

from typing import Any

from bot.domain.model import Judging, Question
from bot.llm.prompts.render import render_question
from tests.fakes.scripted_mind import ScriptedMind

SAYS: dict[str, Any] = {
    "analyze_failure": {
        "cause": "`add` subtracts",
        "reasoning": "add(1, 2) is -1",
        "confidence": 0.9,
        "suspects": [
            {"file": "calc.py", "line": 2, "score": 0.95, "reason": "minus instead of plus"}
        ],
    },
    "judge_failure": {
        "cause": "`add` subtracts",
        "reasoning": "add(1, 2) is -1",
        "confidence": 0.9,
        "suspects": [
            {"file": "calc.py", "line": 2, "score": 0.95, "reason": "minus instead of plus"}
        ],
        "goal": "make add add",
        "plan_confidence": 0.9,
        "overall": 0.9,
        "recommendation": "approve",
        "rationale": "short and safe",
    },
    "assess_live": {
        "next": "stop",
        "confidence_adjustment": 0.5,
        "feedback": "good",
    },
    "plan_task": {
        "goal": "make add add",
        "confidence": 0.9,
        "steps": [
            {"id": "S-1", "order": 1, "description": "search for the operator", "action": "search"}
        ],
        "acceptance_criteria": [
            {"id": "AC-1", "description": "add(2, 2) is 4", "type": "unit", "critical": True}
        ],
    },
    "critique_plan": {
        "overall": 0.9,
        "safety": 0.95,
        "recommendation": "approve",
        "rationale": "short and safe",
    },
    "evaluate_reasoning": {
        "reasoning_quality": 0.9,
        "confidence_in_reasoning": 0.85,
        "feedback": "sound",
    },
    "next_action": {
        "decision": {"action": "run_worker", "reason": "cheap to try"},
        "worker_call": {"worker_type": "search", "prompt": "look at line 2"},
    },
    "critique_change": {"score": 0.95, "justification": "mends the cause"},
    "reflect": {"lessons_learned": ["calc.add was written with a minus"], "confidence": 0.8},
}
JUDGING = (
    "analyze_failure",
    "assess_live",
    "plan_task",
    "critique_plan",
    "evaluate_reasoning",
    "next_action",
)
"""Of one iteration, in order."""


async def _renders(question: Question) -> None:
    render_question(question)


def a_mind(answers: dict[str, Any] | None = None, **more: Any) -> ScriptedMind:
    """A model that answers well, but for what is given, and judges always.

    Args:
        answers: By prompt, instead.
        more: As `ScriptedMind` takes it.
    """
    chosen = {"judging": Judging.ALWAYS, **more}
    return ScriptedMind({**SAYS, **(answers or {})}, before=_renders, **chosen)


def but(prompt: str, **fields: Any) -> dict[str, Any]:
    """The good answers but for some fields of one."""
    return {prompt: {**SAYS[prompt], **fields}}
