"""Messages: other names, other shapes, unknown scores, caps; nothing is invented and nothing is called passed."""

from typing import Any

import pytest
from jsonschema import Draft202012Validator
from pydantic import ValidationError

from bot.domain.decision import Action
from bot.domain.plan import CriterionType
from bot.llm.protocol.envelope import NotAMessage, open_envelope
from bot.llm.protocol.messages import (
    MESSAGES,
    AnalyzeFailure,
    AssessLive,
    CritiqueChange,
    CritiquePlan,
    EvaluateReasoning,
    Message,
    NextStep,
    PlanTask,
    ProposeFix,
    Reflect,
)
from bot.llm.protocol.schema import build_schema
from bot.llm.protocol.tidy import LIST_CAP, TEXT_CAP, score, snake


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("0.8", 0.8),
        ("80%", 0.8),
        ("8/10", 0.8),
        ("0", 0.0),
        ("7", 1.0),
        ("-1", 0.0),
        (0.3, 0.3),
        ("1e400", None),
    ]
    + [(word, None) for word in ("", "n/a", "unknown", "null", "-", "NaN", "inf")],
)
def test_scores_are_clamped_and_unknown_ones_are_none(said: object, meant: float | None) -> None:
    assert score(said) == meant


@pytest.mark.parametrize("said", ["high", "1/0", "0.8 or so", "0,8"])
def test_what_is_no_score_is_refused(said: str) -> None:
    with pytest.raises(ValidationError):
        CritiqueChange.model_validate({"score": said, "justification": "x"})


def test_a_missing_score_is_unknown_and_zero_is_a_score() -> None:
    critique = CritiquePlan.model_validate({"overall": "0.0", "recommendation": "approve"})
    assert (critique.overall, critique.safety) == (0.0, None)
    assert AssessLive.model_validate({"should_continue": "yes"}).confidence_adjustment is None
    assert (
        AssessLive.model_validate(
            {"should_continue": "yes", "adjustment": "-7"}
        ).confidence_adjustment
        == -1.0
    )
    assert (
        EvaluateReasoning.model_validate(
            {"quality": "0.5", "passes_recommended": "9"}
        ).passes_recommended
        == 3
    )


def test_names_may_be_written_in_other_ways() -> None:
    assert {snake(name) for name in ("shouldContinue", "Should continue", "should-continue")} == {
        "should_continue"
    }
    step = NextStep.model_validate(
        {"Decision": {"Action": "Retry-With-Context"}, "Context": {"Files": "a.py"}}
    )
    assert step.decision.action is Action.RETRY_WITH_CONTEXT
    assert step.context.files == ("a.py",)
    assert NextStep.model_validate({"action": "abort", "reason": "x"}).decision.reason == "x"


def test_mappings_may_stand_one_level_deeper() -> None:
    plan = {
        "task": {
            "id": "T-1",
            "title": "mend",
            "acceptanceCriteria": [{"description": "d", "passed": "true"}],
        }
    }
    message = PlanTask.model_validate(plan)
    assert (message.task_id, message.goal) == ("T-1", "mend")
    (criterion,) = message.acceptance_criteria
    assert (criterion.id, criterion.type, criterion.passed) == ("AC-1", CriterionType.UNIT, False)
    assert CritiquePlan.model_validate({"scores": {"overall_score": "0.7"}}).overall == 0.7


def test_a_decision_goes_with_its_worker_only() -> None:
    worker = {"worker_type": "search"}
    assert NextStep.model_validate({"decision": "run_worker", "worker_call": worker}).worker_call
    assert NextStep.model_validate({"decision": "run_worker"}).worker_call is None
    assert NextStep.model_validate({"decision": "abort", "worker_call": worker}).worker_call is None
    with pytest.raises(ValidationError):
        NextStep.model_validate(
            {"decision": "run_worker", "worker_call": {"worker_type": "shell", "mode": "exec"}}
        )


def test_texts_and_lists_are_capped_and_other_fields_are_dropped() -> None:
    fields = {
        "lessons_learned": ["x" * 9_000] * 200,
        "by": "rules",
        "insights": None,
        "confidence": "0.5",
    }
    reflection = Reflect.model_validate(fields)
    assert len(reflection.lessons_learned) == LIST_CAP
    assert len(reflection.lessons_learned[0]) == TEXT_CAP
    assert not hasattr(reflection, "by")


def test_lists_and_texts_are_read_from_whatever_they_were_written_as() -> None:
    assert Reflect.model_validate({"lessons": "one"}).lessons_learned == ("one",)
    assert Reflect.model_validate({"lessons": [{"Note": "two"}]}).lessons_learned == ("Note: two",)
    analysis = AnalyzeFailure.model_validate(
        {
            "root_cause": ["a", "b"],
            "suspects": {"file": "a.py", "line": "lines 12-15", "score": "?"},
        }
    )
    assert analysis.cause == "a\nb"
    assert [(one.line, one.score) for one in analysis.suspects] == [(12, None)]
    assert (
        CritiquePlan.model_validate(
            {"overall": "1", "issues": "none", "strengths": "N/A"}
        ).strengths
        == ()
    )


def test_a_place_that_was_not_filled_is_missing() -> None:
    with pytest.raises(ValidationError):
        AnalyzeFailure.model_validate({"cause": "<a few sentences>"})
    said = {"cause": "x < y and y > z", "title": "<one line>", "suspects": ["<place>"]}
    assert AnalyzeFailure.model_validate(said) == AnalyzeFailure(cause="x < y and y > z")


@pytest.mark.parametrize("kind", MESSAGES, ids=lambda kind: kind.type)
def test_an_empty_message_is_none(kind: type[Message]) -> None:
    with pytest.raises(ValidationError):
        kind.model_validate({})


def test_no_message_carries_code() -> None:
    assert not {"diff", "code", "changes", "edits", "patch", "content"} & set(
        ProposeFix.model_fields
    )


SAID: dict[type[Message], dict[str, Any]] = {
    NextStep: {
        "decision": {"action": "abort", "reason": "x"},
        "worker_call": None,
        "updated_acceptance_criteria": [],
        "context": {"files": [], "symbols": []},
    },
    AssessLive: {
        "next": "continue",
        "confidence_adjustment": None,
        "feedback": "",
    },
    CritiqueChange: {
        "score": 0.5,
        "justification": "x",
        "issues": [],
        "updated_acceptance_criteria": [],
    },
}


@pytest.mark.parametrize("kind", MESSAGES, ids=lambda kind: kind.type)
def test_a_schema_is_strict_and_stands_alone(kind: type[Message]) -> None:
    schema = build_schema(kind)
    Draft202012Validator.check_schema(schema)
    assert "$ref" not in str(schema)

    def strict(part: Any) -> None:
        if isinstance(part, dict):
            if part.get("type") == "object":
                assert part["additionalProperties"] is False
                assert part["required"] == list(part["properties"])
            for one in part.values():
                strict(one)
        elif isinstance(part, list):
            for one in part:
                strict(one)

    strict(schema)


@pytest.mark.parametrize("kind", SAID, ids=lambda kind: kind.type)
def test_what_keeps_to_the_schema_is_the_message(kind: type[Message]) -> None:
    envelope = {"type": kind.type, "version": 1, "payload": SAID[kind]}
    Draft202012Validator(build_schema(kind)).validate(envelope)
    assert open_envelope(envelope, kind) == kind.model_validate(SAID[kind])


def test_decompose_is_read_as_plan_task() -> None:
    payload = {"title": "mend", "criteria": [{"description": "d"}]}
    assert open_envelope({"type": "decompose", "payload": payload}, PlanTask).goal == "mend"


@pytest.mark.parametrize(
    "value", [None, "x", [], [1, 2], {"type": "assess_live", "version": "3"}, {"type": ["a"]}]
)
def test_what_is_no_envelope_is_refused(value: object) -> None:
    with pytest.raises(NotAMessage):
        open_envelope(value, AssessLive)
