"""A table of replies that the specification allows: each is accepted, and holds what it says."""

import json
from typing import Any, NamedTuple

import pytest
import yaml

from bot.llm.protocol.extract import extract
from bot.llm.protocol.messages import (
    MESSAGES,
    AnalyzeFailure,
    AnalyzeTarget,
    AssessLive,
    CritiqueChange,
    CritiquePlan,
    EvaluateReasoning,
    ImplementImprovement,
    JudgeFailure,
    Message,
    NextStep,
    PlanTask,
    ProposeFix,
    Reflect,
)


class Reply(NamedTuple):
    """A payload and what has to be read from it."""

    kind: type[Message]
    payload: dict[str, Any]
    holds: dict[str, Any]
    type: str = ""


CRITERION = {
    "id": "AC-1",
    "description": "it adds",
    "type": "unit",
    "critical": True,
    "passed": False,
}
STEP = {
    "id": "S-1",
    "order": 1,
    "description": "search",
    "action": "search",
    "parameters": {"path": "a.py"},
}
WORKER = {"worker_type": "search", "mode": "exec", "prompt": "look"}
ISSUE = {"severity": "high", "category": "logic", "description": "a circle"}
INSIGHT = {"category": "success", "description": "d", "evidence": "e", "impact": "i"}
BETTER = {"area": "tool-usage", "suggestion": "s", "priority": "low", "expected_impact": "x"}
TABLE = {
    "a plan without a goal": Reply(
        PlanTask,
        {"task_id": "T-7", "acceptance_criteria": [CRITERION]},
        {"task_id": "T-7", "goal": ""},
    ),
    "a plan without criteria": Reply(
        PlanTask, {"goal": "g", "steps": [STEP]}, {"goal": "g", "confidence": None}
    ),
    "a goal alone": Reply(PlanTask, {"goal": "g"}, {"goal": "g", "steps": ()}),
    "a task inside": Reply(
        PlanTask, {"task": {"id": "T-8", "acceptance_criteria": [CRITERION]}}, {"task_id": "T-8"}
    ),
    "decompose": Reply(
        PlanTask,
        {"taskId": "T-9", "acceptance_criteria": [CRITERION]},
        {"task_id": "T-9"},
        "decompose",
    ),
    "a plan with everything": Reply(
        PlanTask,
        {
            "task_id": "T-1",
            "goal": "g",
            "steps": [STEP],
            "confidence": 0.0,
            "acceptance_criteria": [CRITERION],
        },
        {"confidence": 0.0, "task_id": "T-1"},
    ),
    "run a worker": Reply(
        NextStep, {"decision": {"action": "run_worker", "reason": "r"}, "worker_call": WORKER}, {}
    ),
    "complete": Reply(
        NextStep, {"decision": {"action": "mark_complete", "reason": "r"}}, {"worker_call": None}
    ),
    "ask": Reply(
        NextStep, {"decision": {"action": "ask_human", "reason": "r"}, "worker_call": None}, {}
    ),
    "a decision in a word": Reply(NextStep, {"decision": "abort"}, {}),
    "a criterion without an id": Reply(
        NextStep,
        {
            "decision": {"action": "abort", "reason": "r"},
            "updated_acceptance_criteria": [{"description": "d"}],
        },
        {},
    ),
    "criteria as they stand": Reply(
        NextStep,
        {
            "decision": {"action": "abort", "reason": "r"},
            "updated_acceptance_criteria": [CRITERION],
        },
        {},
    ),
    "an analysis": Reply(AnalyzeFailure, {"cause": "c"}, {"confidence": None}),
    "an analysis with places": Reply(
        AnalyzeFailure, {"cause": "c", "suspects": [{"file": "a.py", "line": 3}]}, {}
    ),
    "a whole judgement": Reply(
        JudgeFailure,
        {
            "analysis": {"cause": "c", "confidence": 0.7},
            "plan": {"goal": "g", "plan_confidence": "80%"},
            "critique": {"overall": 0.0, "issues": [ISSUE], "recommendation": "reject"},
        },
        {"cause": "c", "confidence": 0.7, "plan_confidence": 0.8, "overall": 0.0},
    ),
    "a judgement without a critique": Reply(JudgeFailure, {"root_cause": "c"}, {"overall": None}),
    "an improvement": Reply(
        AnalyzeTarget, {"title": "t", "impact": "i"}, {"expected_impact": "i", "confidence": None}
    ),
    "an improvement made": Reply(
        ImplementImprovement, {"title": "t", "confidence": "80%"}, {"confidence": 0.8}
    ),
    "a fix": Reply(ProposeFix, {"title": "t"}, {"title": "t"}),
    "a fix without a title": Reply(
        ProposeFix, {"explanation": "e", "confidence": "80%"}, {"confidence": 0.8}
    ),
    "a critique": Reply(
        CritiquePlan,
        {
            "overall_score": 0.0,
            "feasibility_score": 1,
            "issues": [ISSUE],
            "recommendation": "reject",
        },
        {"overall": 0.0, "feasibility": 1.0, "safety": None},
    ),
    "a recommendation alone": Reply(CritiquePlan, {"recommendation": "revise"}, {"overall": None}),
    "a change": Reply(CritiqueChange, {"score": 0.0, "justification": "j"}, {"score": 0.0}),
    "a change and criteria": Reply(
        CritiqueChange,
        {"justification": "j", "updated_acceptance_criteria": [CRITERION]},
        {"score": None},
    ),
    "a live assessment": Reply(
        AssessLive,
        {"next": "deepen", "confidence_adjustment": -1, "feedback": "f"},
        {"next": "deepen", "confidence_adjustment": -1.0},
    ),
    "a short assessment": Reply(AssessLive, {"Next": "Stop"}, {"next": "stop"}),
    "two booleans for one choice": Reply(
        AssessLive,
        {"should_continue": True, "should_deepen": False, "confidence_adjustment": -1},
        {"next": "continue", "confidence_adjustment": -1.0},
    ),
    "two booleans for another look": Reply(
        AssessLive, {"shouldContinue": "Yes", "Should deepen": "true"}, {"next": "deepen"}
    ),
    "two booleans that contradict each other": Reply(
        AssessLive, {"should_continue": "no", "should_deepen": True}, {"next": "stop"}
    ),
    "one boolean": Reply(AssessLive, {"should_continue": False}, {"next": "stop"}),
    "a choice beside booleans": Reply(
        AssessLive, {"should_continue": False, "next": "continue"}, {"next": "continue"}
    ),
    "an evaluation": Reply(
        EvaluateReasoning,
        {
            "reasoning_quality": 0.5,
            "confidence_in_reasoning": 0.0,
            "concerns": ["c"],
            "next": "Think-deeper",
            "passes_recommended": 2,
        },
        {"confidence_in_reasoning": 0.0, "next": "think_deeper", "passes_recommended": 2},
    ),
    "an evaluation of one score": Reply(
        EvaluateReasoning, {"confidence_in_reasoning": 0.4}, {"reasoning_quality": None}
    ),
    "an evaluation without scores": Reply(EvaluateReasoning, {"next": "replan"}, {}),
    "booleans of an evaluation": Reply(
        EvaluateReasoning,
        {"should_replan": False, "should_think_deeper": True},
        {"next": "think_deeper"},
    ),
    "an evaluation that wants both": Reply(
        EvaluateReasoning, {"should_replan": True, "should_think_deeper": "yes"}, {"next": "replan"}
    ),
    "an evaluation that wants neither": Reply(
        EvaluateReasoning,
        {"should_replan": "no", "should_think_deeper": False},
        {"next": "proceed"},
    ),
    "half a choice": Reply(
        EvaluateReasoning,
        {"reasoning_quality": 0.5, "should_replan": False},
        {"next": None},
    ),
    "a reflection": Reply(
        Reflect, {"insights": [INSIGHT], "lessons_learned": ["l"], "confidence": 1}, {}
    ),
    "improvements alone": Reply(Reflect, {"improvements": [BETTER]}, {"lessons_learned": ()}),
}


def test_the_table_knows_every_message() -> None:
    assert {reply.kind for reply in TABLE.values()} == set(MESSAGES)


@pytest.mark.parametrize("form", ["yaml", "json", "a fence", "without a payload"])
@pytest.mark.parametrize("name", TABLE)
def test_a_reply_of_the_table_is_accepted(name: str, form: str) -> None:
    reply = TABLE[name]
    envelope: dict[str, Any] = {"type": reply.type or reply.kind.type, "version": 1}
    envelope |= reply.payload if form == "without a payload" else {"payload": reply.payload}
    text = json.dumps(envelope) if form == "json" else yaml.safe_dump(envelope, sort_keys=False)
    said = extract(
        f"Here it is:\n```\n{text}```\n" if form == "a fence" else text, reply.kind
    ).message
    assert said is not None
    assert {field: getattr(said, field) for field in reply.holds} == reply.holds


def test_a_criterion_that_the_plan_calls_not_met_is_denied_and_none_is_passed() -> None:
    words: dict[Any, bool] = {
        False: True,
        "no": True,
        "False": True,
        True: False,
        "yes": False,
        None: False,
    }
    for word, is_denied in words.items():
        (criterion,) = PlanTask.model_validate(
            {"criteria": [{**CRITERION, "passed": word}]}
        ).acceptance_criteria
        assert (criterion.denied, criterion.passed, criterion.critical) == (is_denied, False, True)
