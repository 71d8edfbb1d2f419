"""The mission loop with a model beside the rules: who speaks, what it may not do, what it costs, what it changes."""

import logging
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typing_extensions import override

from bot.domain.account import ModelLimits
from bot.domain.decision import Action
from bot.domain.diagnosis import Diagnosis, Suspect
from bot.domain.forecast import Forecast
from bot.domain.mission import MissionContext, Outcome
from bot.domain.model import Judging, ModelCall, ModelTrouble, Passage, Role
from bot.domain.patch import Candidate, FixBudget, NearMiss, Rung, RungNote
from bot.domain.policy import Limits, PolicyLimits, RepositoryPolicy
from bot.domain.request import Answer
from bot.domain.verdict import Route
from bot.fixers.rung2_model.fixer import ModelFixer
from bot.ledger.calls import CallLedger
from bot.llm.estimate import CHARACTERS_PER_TOKEN
from bot.llm.mind import ModelMinds
from bot.llm.prices import Prices
from bot.llm.prompts.render import render_question
from bot.llm.providers.mock import Mock
from bot.mission.failures.suspects import read_text
from bot.ports import Mind, Workspace
from sandbox.errors import ChangeRejected
from sandbox.types import TestReport
from tests.builders import a_change, a_request
from tests.databases import a_database
from tests.fakes.fake_workspace import FakeWorkspace
from tests.fakes.fixed_clock import FixedClock
from tests.fakes.scripted_fixer import ScriptedFixer
from tests.fakes.scripted_mind import ScriptedMind
from tests.fakes.scripted_trials import ScriptedTrials, passed
from tests.fakes.scripted_workspace import Asked
from tests.unit.bot.mission.minded import JUDGING, SAYS, a_mind, but
from tests.unit.bot.mission.world import (
    ADDS,
    BROKEN,
    MENDED,
    PATH,
    Killed,
    Recording,
    Stage,
    a_fix,
    a_world,
    honest,
)

pytestmark = pytest.mark.anyio

LIMITS = ModelLimits(judging=Judging.ALWAYS)

DOUBTS: dict[str, Any] = {
    "analyze_failure": {"cause": "no idea", "reasoning": "none", "confidence": 0.0, "suspects": []},
    "assess_live": {
        "next": "stop",
        "confidence_adjustment": -1.0,
    },
    **but("plan_task", confidence=0.0),
    "critique_plan": {"overall": 0.0, "safety": 0.0, "recommendation": "reject"},
    "evaluate_reasoning": {
        "reasoning_quality": 0.0,
        "confidence_in_reasoning": 0.0,
        "next": "replan",
        "concerns": ["all", "of", "it", "is", "wrong"],
    },
    "next_action": {"decision": {"action": "abort", "reason": "hopeless"}},
}
"""Of a model that believes in nothing."""


def one_bug(mind: Mind | None, **more: Any) -> Stage:
    """One bug is left, and the fixer knows it."""
    return Stage(**{"world": a_world(ADDS), "mind": mind, **more})


def dear(mind: Mind | None, **more: Any) -> Stage:
    """One bug is left, and only a rung that costs money knows it."""
    return one_bug(mind, **{"fixers": (always(a_fix(MENDED), rung=Rung.MODEL),), **more})


def always(*proposals: Any, rung: Rung = Rung.SEARCH) -> ScriptedFixer:
    return ScriptedFixer(lambda _files, _context: proposals, rung)


def who(context: MissionContext) -> dict[str, str]:
    """Who spoke in the first iteration."""
    first = context.iterations[0]
    said = {
        "analyze": first.diagnosis,
        "plan": first.plan,
        "critique": first.critique,
        "meta": first.meta,
    }
    return {
        name: value.by if value else "nobody"
        for name, value in {**said, "decide": first.next_action}.items()
    }


# --- who speaks -----------------------------------------------------------------------------------


async def test_every_stage_is_asked_and_says_that_a_model_spoke() -> None:
    mind = a_mind()
    context = await one_bug(mind).play()
    assert context.outcome is Outcome.FIXED, context.reason
    assert set(who(context).values()) == {"model"}
    assert [question.prompt for question in mind.questions] == [*JUDGING, "critique_change"]
    assert {question.role for question in mind.questions} == {Role.JUDGE}
    first = context.iterations[0]
    assert first.diagnosis is not None
    assert first.diagnosis.cause == "`add` subtracts"
    assert first.plan is not None
    assert first.plan.goal == "make add add"
    assert [step.action for step in first.plan.steps] == ["search", "verify"]
    assert first.next_action is not None
    assert first.next_action.worker_call is not None
    assert first.next_action.worker_call.prompt == "look at line 2"
    assert first.verification is not None
    assert first.verification.review is not None
    assert first.verification.review.score == 0.95


async def test_without_a_model_the_rules_speak_and_nothing_is_paid() -> None:
    context = await one_bug(None).play()
    assert context.outcome is Outcome.FIXED
    assert set(who(context).values()) == {"rules"}
    assert (context.calls, context.cost_usd) == ((), 0.0)
    assert context.iterations[0].verification is not None
    assert context.iterations[0].verification.review is None


async def test_a_model_for_fixes_only_judges_nothing() -> None:
    mind = a_mind(roles=[Role.FIX])
    context = await one_bug(mind).play()
    assert set(who(context).values()) == {"rules"}
    assert not mind.questions


@pytest.mark.parametrize(
    "trouble", [ModelTrouble.UNREADABLE, ModelTrouble.REFUSAL, ModelTrouble.TOO_LARGE]
)
async def test_a_model_without_a_usable_answer_leaves_every_stage_to_the_rules(
    trouble: ModelTrouble, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        context = await one_bug(a_mind(dict.fromkeys(SAYS, trouble))).play()
    assert context.outcome is Outcome.FIXED, context.reason
    assert set(who(context).values()) == {"fallback"}
    assert {call.trouble for call in context.calls} == {trouble}
    assert context.iterations[0].verification is not None
    assert context.iterations[0].verification.review is not None
    assert context.iterations[0].verification.review.by == "fallback"
    assert "the rules decide" in caplog.text
    by_rules = await one_bug(None).play()
    assert context.iterations[0].confidence == by_rules.iterations[0].confidence


@pytest.mark.parametrize("prompt", JUDGING)
async def test_one_stage_that_fails_falls_back_alone(prompt: str) -> None:
    context = await one_bug(a_mind({prompt: ModelTrouble.UNREADABLE})).play()
    assert context.outcome is Outcome.FIXED
    assert sorted(who(context).values()).count("fallback") == (prompt != "assess_live")


async def test_a_server_that_is_away_is_asked_twice_and_then_left_alone() -> None:
    mind = a_mind(dict.fromkeys(SAYS, ModelTrouble.TIMEOUT))
    context = await one_bug(mind).play()
    assert context.outcome is Outcome.FIXED
    assert len(mind.questions) == 2
    assert set(who(context).values()) == {"fallback"}


async def test_unknown_scores_are_the_rules_own_and_zero_is_a_score() -> None:
    by_rules = (await one_bug(None).play()).iterations[0]
    unknown = {
        "critique_plan": {"recommendation": "approve"},
        "evaluate_reasoning": {"next": "proceed"},
        **but("plan_task", confidence=None),
    }
    first = (await one_bug(a_mind(unknown)).play()).iterations[0]
    assert first.critique
    assert by_rules.critique
    assert (first.critique.by, first.critique.overall) == ("model", by_rules.critique.overall)
    assert first.plan
    assert by_rules.plan
    assert first.plan.confidence == by_rules.plan.confidence
    zero = (await one_bug(a_mind(but("critique_plan", overall=0.0))).play()).iterations[0]
    assert zero.confidence is not None
    assert zero.confidence.components.critique == 0.0


# --- what a model may never do --------------------------------------------------------------------


async def test_no_word_of_a_model_calls_anything_fixed() -> None:
    complete = {
        "decision": {"action": "mark_complete", "reason": "done"},
        "updated_acceptance_criteria": [{"id": f"AC-{n}", "passed": True} for n in range(1, 9)],
    }
    wrong = a_fix(ADDS + "# nothing\n")
    context = await one_bug(a_mind({"next_action": complete}), fixers=(always(wrong),)).play()
    assert context.outcome is Outcome.NO_FIX
    assert who(context)["decide"] == "fallback"
    assert not any(c.passed for c in context.iterations[0].next_action.updated_acceptance_criteria)  # type: ignore[union-attr]


async def test_a_model_adds_criteria_that_decide_nothing_and_changes_none() -> None:
    rules = (await one_bug(None).play()).acceptance_criteria
    update = but(
        "next_action",
        updated_acceptance_criteria=[{"id": "AC-1", "description": "mul works", "critical": True}],
    )
    context = await one_bug(a_mind(update)).play()
    assert context.outcome is Outcome.FIXED
    assert context.acceptance_criteria[: len(rules)] == rules
    more = context.acceptance_criteria[len(rules) :]
    assert [(c.description, c.critical, c.passed, c.check) for c in more] == [
        ("add(2, 2) is 4", True, False, None),
        ("mul works", True, False, None),
    ]
    assert len({c.id for c in context.acceptance_criteria}) == len(context.acceptance_criteria)


async def test_a_model_suspects_only_lines_of_files_that_may_be_edited() -> None:
    places = [
        ("/etc/passwd", 1),
        ("../x.py", 1),
        ("tests/test_math.py", 2),
        ("calc.py", 999),
        ("gone.py", 1),
        (PATH, 6),
    ]
    suspects = [{"file": file, "line": line, "score": 1.0} for file, line in places]
    context = await one_bug(a_mind(but("analyze_failure", suspects=suspects))).play()
    diagnosis = context.iterations[0].diagnosis
    assert diagnosis is not None
    assert {(s.file, s.line) for s in diagnosis.suspects if "named by a model" in s.reason} == {
        (PATH, 6)
    }
    assert {s.file for s in diagnosis.suspects} == {PATH}


async def test_a_plan_without_anybody_who_may_work_is_no_plan() -> None:
    steps = [{"id": "S-1", "order": 1, "description": "x", "action": "shell"}]
    context = await one_bug(a_mind(but("plan_task", steps=steps))).play()
    assert context.outcome is Outcome.FIXED
    assert who(context)["plan"] == "fallback"


async def test_what_the_rules_find_wrong_with_a_models_plan_stays_in_its_critique() -> None:
    paths = {"paths": "../../etc/passwd\n/etc/shadow\n.git/config"}
    steps = [{"id": "S-1", "order": 1, "description": "x", "action": "search", "parameters": paths}]
    mind = a_mind({"plan_task": [but("plan_task", steps=steps)["plan_task"]] * 2})
    first = (await one_bug(mind).play()).iterations[0]
    assert first.replanned
    assert first.plan is not None
    assert first.plan.refined
    assert [question.stage for question in mind.questions][2:6] == [
        "plan",
        "critique",
        "evaluate",
        "replan",
    ]
    shown = str(mind.asked("plan_task")[1].gaps["criticised"])
    assert "outside the checkout" in shown
    assert first.critique is not None
    assert (first.critique.by, first.critique.overall) == ("model", 0.3)
    assert any("outside the checkout" in issue.description for issue in first.critique.issues)


async def test_a_refined_plan_is_criticised_again_and_may_be_good() -> None:
    bad, good = but("plan_task", confidence=0.1)["plan_task"], SAYS["plan_task"]
    reject = {"overall": 0.2, "recommendation": "reject", "issues": []}
    mind = a_mind({"plan_task": [bad, good], "critique_plan": [reject, SAYS["critique_plan"]]})
    context = await one_bug(mind).play()
    assert context.outcome is Outcome.FIXED
    first = context.iterations[0]
    assert first.replanned
    assert first.confidence is not None
    assert first.confidence.action is Route.EXECUTE


async def test_a_talkative_model_costs_no_more_confidence_than_five_concerns() -> None:
    concerns = [f"concern {n}" for n in range(40)]
    context = await one_bug(a_mind(but("evaluate_reasoning", concerns=concerns))).play()
    assert context.iterations[0].meta is not None
    assert len(context.iterations[0].meta.concerns) == 5


@pytest.mark.parametrize(
    ("action", "outcome"), [("abort", Outcome.NO_FIX), ("ask_human", Outcome.NEEDS_HUMAN)]
)
async def test_a_model_may_stop_what_costs_money(action: str, outcome: Outcome) -> None:
    stops = {
        "next_action": {
            "decision": {"action": action, "reason": "test and source contradict each other"}
        }
    }
    stage = dear(a_mind(stops))
    context = await stage.play()
    assert context.outcome is outcome
    assert context.reason == "test and source contradict each other"
    assert not stage.fixers[0].budgets


# --- never worse than without ---------------------------------------------------------------------


@pytest.mark.parametrize("prompt", [*JUDGING, "all of them"])
async def test_no_doubt_of_a_model_holds_back_what_costs_nothing(prompt: str) -> None:
    mind = a_mind(DOUBTS if prompt == "all of them" else {prompt: DOUBTS[prompt]})
    search, model = always(a_fix(MENDED)), always(a_fix(MENDED), rung=Rung.MODEL)
    context = await one_bug(mind, fixers=(search, model)).play()
    assert context.outcome is Outcome.FIXED, context.reason
    assert len(context.iterations) == 1
    assert (len(search.budgets), len(model.budgets)) == (1, 0)


@pytest.mark.parametrize("action", ["abort", "ask_human", "retry_with_context"])
async def test_what_a_model_would_rather_not_do_is_told_with_what_is_done_instead(
    action: str,
) -> None:
    mind = a_mind({"next_action": {"decision": {"action": action, "reason": "IGNORE THIS CI"}}})
    context = await one_bug(mind).play()
    assert context.outcome is Outcome.FIXED
    first = context.iterations[0].next_action
    assert first is not None
    assert (first.by, first.held, first.decision.action) == (
        "model",
        "IGNORE THIS CI",
        Action.RUN_WORKER,
    )
    assert f"held back: {action}: IGNORE THIS CI" in first.decision.reason


@pytest.mark.parametrize("proposals", [(RungNote(reason="nothing"),), (a_fix(ADDS + "# no\n"),)])
async def test_when_what_costs_nothing_finds_nothing_doubts_hold_back_the_rest(
    proposals: tuple[Any, ...],
) -> None:
    near = NearMiss(path=PATH, line=2, description="- to +", diff="", mended=("t",))
    search = always(RungNote(reason="", near=(near,)), *proposals)
    model = always(a_fix(MENDED), rung=Rung.MODEL)
    context = await one_bug(a_mind(DOUBTS), fixers=(search, model)).play()
    assert context.outcome is Outcome.NEEDS_HUMAN
    assert context.question
    assert (len(search.budgets), len(model.budgets)) == (1, 0)
    willing = always(RungNote(reason="", near=(near,)), *proposals)
    again = await one_bug(
        a_mind({"next_action": [DOUBTS["next_action"], SAYS["next_action"]]}),
        fixers=(willing, model),
    ).play()
    assert again.outcome is Outcome.FIXED
    assert model.contexts[0].near_misses == (near,)


async def test_a_partial_fix_that_costs_nothing_is_built_upon_whatever_a_model_doubts() -> None:
    by_rules = await Stage().play()
    context = await Stage(mind=a_mind(DOUBTS)).play()
    assert context.outcome is by_rules.outcome is Outcome.FIXED
    assert len(context.iterations) == len(by_rules.iterations) == 2


async def test_one_iteration_is_enough_for_what_costs_nothing() -> None:
    context = await one_bug(a_mind(DOUBTS), limits=Limits(iterations=1)).play()
    assert context.outcome is Outcome.FIXED


async def test_self_critique_decides_afterwards() -> None:
    context = await one_bug(
        a_mind({**DOUBTS, "critique_change": {"score": 0.0, "justification": "no"}})
    ).play()
    assert context.outcome is not Outcome.FIXED
    verification = context.iterations[0].verification
    assert verification is not None
    assert verification.review is not None
    assert verification.review.refused


async def test_where_a_person_answered_no_model_is_asked_whether_to_go_on() -> None:
    mind = a_mind({"next_action": DOUBTS["next_action"]})
    context = await dear(mind).play(answer=Answer(proposal_id="m-0", text="yes"))
    assert context.outcome is Outcome.FIXED
    assert not mind.asked("next_action")


async def test_a_file_too_large_to_read_is_none_that_a_model_can_end_a_mission_with() -> None:
    class Huge(FakeWorkspace):
        @override
        async def read_file(self, path: str) -> str | None:
            raise ChangeRejected(f"{path} is too large")

    assert await read_text(PATH, Huge({PATH: "x"})) == ""


async def test_a_mission_keeps_what_it_was_expected_to_cost() -> None:
    mind = a_mind()
    mind.expects = Forecast(missions=42, calls=3, cost_usd=0.03)
    context = await one_bug(mind).play()
    assert context.forecast == mind.expects
    assert (await one_bug(None).play()).forecast is None


# --- thinking -------------------------------------------------------------------------------------


async def test_deepen_adds_passes_up_to_three_and_hands_on_what_was_said() -> None:
    deeper = {
        "next": "deepen",
        "confidence_adjustment": -1.0,
        "feedback": "look at even",
    }
    mind = a_mind({"assess_live": deeper})
    context = await one_bug(mind).play()
    assert len(mind.asked("analyze_failure")) == len(mind.asked("assess_live")) == 3
    assert "look at even" in str(mind.asked("analyze_failure")[1].gaps["feedback"])
    diagnosis = context.iterations[0].diagnosis
    assert diagnosis is not None
    assert diagnosis.confidence == pytest.approx(0.9 - 0.2)


@pytest.mark.parametrize(("recommended", "passes"), [(3, 3), (1, 2)])
async def test_retry_with_context_thinks_again_with_the_files_that_were_asked_for_and_only_once(
    recommended: int, passes: int
) -> None:
    again = {
        "decision": {"action": "retry_with_context", "reason": "show me the tests"},
        "context": {"files": ["tests/test_math.py", "/etc/passwd", "../secret"]},
    }
    recommends = but("evaluate_reasoning", next="think_deeper", passes_recommended=recommended)
    mind = a_mind({"next_action": again, **but("assess_live", next="continue"), **recommends})
    context = await dear(mind).play()
    assert context.outcome is Outcome.FIXED
    assert [i.next_action.decision.action for i in context.iterations if i.next_action] == [
        Action.RETRY_WITH_CONTEXT,
        Action.RUN_WORKER,
    ]
    assert len(mind.asked("analyze_failure")) == 1 + passes
    second = mind.asked("analyze_failure")[1].gaps
    assert "show me the tests" in str(second["feedback"])
    asked_for = {
        p.origin: p.text
        for p in second["sources"]
        if isinstance(p, Passage) and p.label == "asked for"
    }
    assert "def test_add" in asked_for["tests/test_math.py"]
    assert (
        asked_for["/etc/passwd"] == asked_for["../secret"] == "(no such text file in the checkout)"
    )


async def test_numbers_alone_lead_to_another_look_too() -> None:
    context = await dear(a_mind(DOUBTS)).play()
    actions = [i.next_action.decision.action for i in context.iterations if i.next_action]
    assert actions[0] is Action.RETRY_WITH_CONTEXT
    assert context.outcome is Outcome.NEEDS_HUMAN


# --- the change, criticised -----------------------------------------------------------------------


async def test_a_green_change_below_the_threshold_is_refused_and_the_next_one_tried() -> None:
    bad = {"score": 0.4, "justification": "special-cases the test"}
    mind = a_mind({"critique_change": [bad, SAYS["critique_change"]]})
    context = await one_bug(mind, fixers=(always(a_fix(MENDED + "# a\n"), a_fix(MENDED)),)).play()
    assert context.outcome is Outcome.FIXED
    assert context.fix is not None
    assert context.fix[0].changes[0].content == MENDED
    assert len(mind.asked("critique_change")) == 2


async def test_a_change_that_nobody_would_merge_is_no_fix_and_says_why() -> None:
    bad = {"score": 0.4, "justification": "special-cases the test"}
    context = await one_bug(
        a_mind({"critique_change": bad}), fixers=(always(a_fix(MENDED)),)
    ).play()
    assert context.outcome is Outcome.NO_FIX
    assert context.fix is None
    assert "refused by self-critique (0.40, below 0.70): special-cases the test" in context.reason
    verification = context.iterations[0].verification
    assert verification is not None
    assert verification.review is not None
    assert (verification.green, verification.review.refused) == (False, True)


@pytest.mark.parametrize(
    ("score", "threshold", "outcome"),
    [
        (0.7, 0.7, Outcome.FIXED),
        (0.69, 0.7, Outcome.NO_FIX),
        (0.0, 0.0, Outcome.FIXED),
        (None, 0.7, Outcome.FIXED),
    ],
)
async def test_the_threshold_decides_and_an_unknown_score_refuses_nothing(
    score: float | None, threshold: float, outcome: Outcome
) -> None:
    mind = a_mind({"critique_change": {"score": score, "justification": "so so"}})
    limits = Limits(change_threshold=threshold)
    context = await one_bug(mind, limits=limits, fixers=(always(a_fix(MENDED)),)).play()
    assert context.outcome is outcome


OWN = {"id": "AC-1", "description": "mul is untouched", "critical": True}
"""A critical criterion that no run decides; in the mission it gets another id."""


@pytest.mark.parametrize(
    ("planned", "decided", "reviewed", "outcome"),
    [
        ({}, None, None, Outcome.FIXED),
        ({}, None, True, Outcome.FIXED),
        ({}, None, False, Outcome.NO_FIX),
        ({}, False, None, Outcome.NO_FIX),
        ({"passed": False}, None, None, Outcome.NO_FIX),
        ({"passed": False}, False, True, Outcome.FIXED),
        ({"passed": False, "critical": False}, False, False, Outcome.FIXED),
        ({"passed": True}, True, None, Outcome.FIXED),
    ],
)
async def test_a_critical_criterion_that_a_model_calls_false_blocks_fixed(
    *, planned: dict[str, bool], decided: bool | None, reviewed: bool | None, outcome: Outcome
) -> None:
    said = {
        **but("plan_task", acceptance_criteria=[{**OWN, **planned}]),
        **but(
            "next_action",
            updated_acceptance_criteria=[{"description": OWN["description"], "passed": decided}],
        ),
        **but("critique_change", updated_acceptance_criteria=[{**OWN, "passed": reviewed}]),
    }
    context = await one_bug(a_mind(said), fixers=(always(a_fix(MENDED)),)).play()
    assert context.outcome is outcome, context.reason
    verification = context.iterations[0].verification
    assert verification is not None
    own = next(c for c in verification.criteria if c.check is None)
    assert own.passed is (reviewed is True)
    if outcome is Outcome.NO_FIX:
        assert "a critical criterion of the model does not hold: mul is untouched" in context.reason
    undecided = any("mul is untouched" in words for words in verification.not_verified)
    assert undecided is (own.critical and not own.passed and not own.denied)


async def test_a_model_speaks_of_its_criterion_by_the_id_it_gave() -> None:
    said = {
        **but(
            "plan_task",
            acceptance_criteria=[{**OWN, "id": "speed"}, {"id": "speed", "description": "b"}],
        ),
        **but("next_action", updated_acceptance_criteria=[{"id": "speed", "passed": False}]),
    }
    context = await one_bug(a_mind(said), fixers=(always(a_fix(MENDED)),)).play()
    assert context.outcome is Outcome.NO_FIX
    assert "mul is untouched" in context.reason
    names = [criterion.id for criterion in context.acceptance_criteria]
    assert "speed" in names
    assert len(set(names)) == len(names)


async def test_the_name_of_a_models_task_is_kept() -> None:
    plan = {"task_id": "TASK-42", "acceptance_criteria": [{"description": "it adds"}]}
    context = await one_bug(a_mind({"plan_task": plan})).play()
    rules = await one_bug(None).play()
    kept, own = context.iterations[0].plan, rules.iterations[0].plan
    assert kept is not None
    assert own is not None
    assert (kept.by, kept.task_id, kept.goal) == ("model", "TASK-42", own.goal)
    assert [step.action for step in kept.steps] == [step.action for step in own.steps]


# --- money ----------------------------------------------------------------------------------------


async def test_calls_are_counted_into_the_missions_budget() -> None:
    mind = a_mind(cost_usd=0.01)
    context = await one_bug(mind).play()
    assert len(context.calls) == len(mind.calls) == 7
    assert context.cost_usd == context.budget.spent_usd == pytest.approx(0.07)
    assert [call.stage for call in context.calls] == [
        "analyze",
        "live",
        "plan",
        "critique",
        "evaluate",
        "decide",
        "review",
    ]


async def test_spent_money_stops_the_next_call_and_not_the_mission() -> None:
    policy = RepositoryPolicy(limits=PolicyLimits(usd_per_mission=0.025))
    mind = a_mind(cost_usd=0.01)
    context = await one_bug(mind, policy=policy).play()
    assert context.outcome is Outcome.FIXED
    assert len(mind.questions) == 3
    assert list(who(context).values()) == ["model", "model", "fallback", "fallback", "fallback"]


async def test_what_a_rung_spends_is_counted_once_and_leaves_less_for_the_stages() -> None:
    mind = a_mind(cost_usd=0.01)
    call = ModelCall(stage="fix", role=Role.FIX, model="scripted:mind", cost_usd=0.5)
    note = RungNote(reason="", calls=(call,), cost_usd=0.5)
    context = await one_bug(mind, fixers=(always(a_fix(MENDED, cost_usd=0.0), note),)).play()
    assert context.cost_usd == pytest.approx(0.57)
    assert [c.cost_usd for c in context.calls].count(0.5) == 1


async def test_a_killed_mission_resumes_with_the_same_calls_and_asks_nothing_twice() -> None:
    undisturbed, mind = Recording(), a_mind()
    expected = await one_bug(mind, checkpoint=undisturbed, clock=FixedClock(step=0.25)).play()
    for name in ("iteration-1/analyze", "iteration-1/critique", "iteration-1/verify-1"):
        checkpoint, asked = Recording(), a_mind()
        checkpoint.dies_after = name
        with pytest.raises(Killed):
            await one_bug(asked, checkpoint=checkpoint, clock=FixedClock(step=0.25)).play()
        checkpoint.dies_after = None
        resumed = await one_bug(asked, checkpoint=checkpoint, clock=FixedClock(step=0.25)).play()
        assert resumed == expected, f"killed after {name}"
        assert len(asked.questions) == len(mind.questions)


async def test_a_resumed_mission_knows_that_a_server_is_away() -> None:
    away = dict.fromkeys(SAYS, ModelTrouble.TIMEOUT)
    expected = await one_bug(
        a_mind(away), checkpoint=Recording(), clock=FixedClock(step=0.25)
    ).play()
    checkpoint, mind = Recording(), a_mind(away)
    checkpoint.dies_after = "iteration-1/plan"
    with pytest.raises(Killed):
        await one_bug(mind, checkpoint=checkpoint, clock=FixedClock(step=0.25)).play()
    checkpoint.dies_after = None
    assert (
        await one_bug(mind, checkpoint=checkpoint, clock=FixedClock(step=0.25)).play() == expected
    )
    assert len(mind.questions) == 2


# --- judging only in doubt ------------------------------------------------------------------------

DOUBTED = a_fix(MENDED, confident=False, score=0.4, rung=Rung.MODEL)


def puzzling(mind: Mind | None, *proposals: Any) -> Stage:
    """Nothing names an error or a place, so that the rules would ask a person."""
    anonymous = a_world(ADDS, run=unnamed)
    return Stage(world=anonymous, mind=mind, fixers=(always(*proposals or (a_fix(MENDED),)),))


def unnamed(asked: Asked) -> TestReport:
    report = honest(asked)
    return report.with_(
        failures=tuple(
            one.with_(error=None, error_message=None, frames=(), file=None, traceback=None)
            for one in report.failures
        )
    )


def prompts(mind: ScriptedMind) -> list[str]:
    return [question.prompt for question in mind.questions]


async def test_a_trivial_bug_needs_no_call_although_a_model_is_there() -> None:
    mind = a_mind(judging=Judging.WHEN_UNSURE)
    context = await one_bug(mind).play()
    assert context.outcome is Outcome.FIXED, context.reason
    assert (context.calls, prompts(mind)) == ((), [])
    assert set(who(context).values()) == {"rules"}


async def test_an_easy_fix_by_a_model_needs_one_call() -> None:
    edit = f"{PATH}\n```python\n<<<<<<< SEARCH\n    return n % 2 == 1\n=======\n    return n % 2 == 0\n>>>>>>> REPLACE\n```\n"
    mind = a_mind({"fix": edit}, judging=Judging.WHEN_UNSURE)
    fixer = ModelFixer(mind, ScriptedTrials(passed), ModelLimits())
    search = always(RungNote(reason="nothing found"))
    stage = replace(one_bug(mind), fixers=(search, fixer))  # type: ignore[arg-type]
    context = await stage.play()
    assert context.outcome is Outcome.FIXED, context.reason
    assert prompts(mind) == ["fix"]
    assert [(call.stage, call.role) for call in context.calls] == [("fix", Role.FIX)]
    question = render_question(mind.questions[0])
    characters = len(question.system) + len(question.user)
    assert characters < 2_500 * CHARACTERS_PER_TOKEN


async def test_where_the_rules_would_ask_a_person_one_call_judges_everything() -> None:
    assert (await puzzling(None).play()).outcome is Outcome.NEEDS_HUMAN
    mind = a_mind(judging=Judging.WHEN_UNSURE)
    context = await puzzling(mind).play()
    assert context.outcome is Outcome.FIXED, context.reason
    assert prompts(mind) == ["judge_failure"]
    assert [(call.stage, call.role) for call in context.calls] == [("judge", Role.JUDGE)]
    assert who(context) == {
        "analyze": "model",
        "plan": "model",
        "critique": "model",
        "meta": "rules",
        "decide": "rules",
    }
    judged = context.iterations[-1]
    assert judged.diagnosis is not None
    assert judged.diagnosis.cause == "`add` subtracts"
    assert judged.diagnosis.suspects[0].line == 2
    assert judged.plan is not None
    assert judged.plan.goal == "make add add"
    assert [step.action for step in judged.plan.steps] == ["search", "verify"]


@pytest.mark.parametrize(
    ("answer", "by"),
    [
        (ModelTrouble.UNREADABLE, "fallback"),
        ({"cause": "no idea", "confidence": 0.0, "plan_confidence": 0.1, "overall": 0.1}, "rules"),
    ],
)
async def test_a_judgement_that_does_not_help_leaves_the_question_to_a_person(
    answer: Any, by: str
) -> None:
    mind = a_mind({"judge_failure": answer}, judging=Judging.WHEN_UNSURE)
    context = await puzzling(mind).play()
    assert context.outcome is Outcome.NEEDS_HUMAN
    assert who(context)["decide"] == by
    assert prompts(mind) == ["judge_failure"]


async def test_a_judgement_is_not_paid_twice_after_a_restart() -> None:
    checkpoint, mind = Recording(), a_mind(judging=Judging.WHEN_UNSURE)
    checkpoint.dies_after = "iteration-1/judge"
    stage = replace(puzzling(mind), checkpoint=checkpoint)
    with pytest.raises(Killed):
        await stage.play()
    checkpoint.dies_after = None
    assert (await stage.play()).outcome is Outcome.FIXED
    assert len(mind.asked("judge_failure")) == 1


@pytest.mark.parametrize(
    ("judging", "asked"),
    [(Judging.WHEN_UNSURE, ["critique_change"]), (Judging.NEVER, [])],
)
async def test_a_verified_change_that_is_doubted_is_reviewed_unless_judging_is_off(
    judging: Judging, asked: list[str]
) -> None:
    mind = a_mind(judging=judging)
    context = await one_bug(mind, fixers=(always(DOUBTED, rung=Rung.MODEL),)).play()
    assert context.outcome is Outcome.NEEDS_HUMAN
    assert prompts(mind) == asked
    shown = [str(question.gaps["sources"]) for question in mind.questions]
    assert all("def even(n)" in source and "calc.py: even" in source for source in shown)


async def test_a_low_review_refuses_a_doubted_change() -> None:
    mind = a_mind(
        {"critique_change": {"score": 0.1, "justification": "wrong"}}, judging=Judging.WHEN_UNSURE
    )
    context = await one_bug(mind, fixers=(always(DOUBTED, rung=Rung.MODEL),)).play()
    assert context.outcome is Outcome.NO_FIX
    assert "refused by self-critique" in context.reason


async def test_without_judging_the_rules_ask_the_person() -> None:
    mind = a_mind(judging=Judging.NEVER)
    assert (await puzzling(mind).play()).outcome is Outcome.NEEDS_HUMAN
    assert prompts(mind) == []


# --- climbing on ----------------------------------------------------------------------------------


async def test_when_everything_of_a_rung_is_refused_the_climb_goes_on_above() -> None:
    search, model = always(a_fix(ADDS + "# no\n")), always(a_fix(MENDED), rung=Rung.MODEL)
    context = await one_bug(None, fixers=(search, model)).play()
    assert context.outcome is Outcome.FIXED, context.reason
    assert len(context.iterations) == 2
    assert (len(search.budgets), len(model.budgets)) == (1, 1)
    assert context.iterations[1].plan is not None
    assert [step.action for step in context.iterations[1].plan.steps] == ["model", "verify"]


async def test_near_misses_and_suspects_of_the_climb_before_are_handed_to_the_rung_above() -> None:
    traced = Suspect(file=PATH, line=5, score=0.5, reason="traced")
    near = NearMiss(path=PATH, line=2, description="- to +", diff="", mended=("t",))
    search = always(RungNote(reason="", near=(near,), suspects=(traced,)), a_fix(ADDS + "# no\n"))
    model = always(a_fix(MENDED), rung=Rung.MODEL)
    await one_bug(None, fixers=(search, model)).play()
    assert [context.near_misses for context in model.contexts] == [(near,)]
    assert model.diagnoses[0].suspects[0] == traced


UNSURE = a_fix(MENDED + "# searched\n", id="searched", confident=False, score=0.4)


@pytest.mark.parametrize(
    ("searched", "asked"),
    [((a_fix(MENDED),), 0), ((UNSURE,), 1), ((a_fix(ADDS + "# no\n"), UNSURE), 1), ((), 1)],
    ids=["confident", "unsure", "confident and refused", "nothing"],
)
async def test_the_model_is_asked_if_and_only_if_the_search_is_not_confident(
    searched: tuple[Candidate, ...], asked: int
) -> None:
    search = always(*searched)
    model = always(a_fix(MENDED, rung=Rung.MODEL, fixer="model"), rung=Rung.MODEL)
    context = await one_bug(None, fixers=(search, model)).play()
    assert context.outcome is Outcome.FIXED, context.reason
    assert len(model.contexts) == asked
    shown = [one.id for context in model.contexts for one in context.doubted]
    assert shown == [one.id for one in searched if one.id == "searched"]


async def test_a_doubted_fix_becomes_a_question_after_every_rung_was_asked() -> None:
    model = always(RungNote(reason="no idea"), rung=Rung.MODEL)
    searched = always(a_fix(ADDS + "# no\n"), UNSURE)
    context = await one_bug(None, fixers=(searched, model)).play()
    assert context.outcome is Outcome.NEEDS_HUMAN, context.reason
    assert len(model.contexts) == 1
    assert context.fix is not None
    assert context.fix[0].id == "searched"


@pytest.mark.parametrize(("asked", "seconds"), [(None, 300.0), (7.0, 7.0)])
async def test_a_model_has_time_of_its_own_unless_somebody_says_how_long(
    asked: float | None, seconds: float
) -> None:
    fixer = always(a_fix(MENDED))
    await one_bug(None, fixers=(fixer,)).play(time_limit_s=asked)
    assert fixer.budgets[0].model_time_limit_s == seconds
    assert fixer.budgets[0].time_limit_s == (asked or 90.0)


async def test_a_rung_that_is_stuck_is_left_for_the_one_above() -> None:
    search = always(*[a_fix(f"{ADDS}# {n}\n", id=f"c-{n}") for n in range(12)])
    model = always(a_fix(MENDED), rung=Rung.MODEL)
    context = await one_bug(None, fixers=(search, model)).play()
    assert context.outcome is Outcome.FIXED, context.reason
    assert (len(search.budgets), len(model.budgets)) == (1, 1)
    assert len(context.iterations) == 3


async def test_on_the_highest_rung_refusals_end_the_mission() -> None:
    search = always(a_fix(ADDS + "# no\n"))
    model = always(a_fix(ADDS + "# neither\n"), rung=Rung.MODEL)
    context = await one_bug(None, fixers=(search, model)).play()
    assert context.outcome is Outcome.NO_FIX
    assert (len(search.budgets), len(model.budgets)) == (1, 1)


async def test_a_higher_rung_that_has_nothing_says_what_was_refused_before() -> None:
    model = always(RungNote(reason="no idea"), rung=Rung.MODEL)
    context = await one_bug(None, fixers=(always(a_fix(ADDS + "# no\n")), model)).play()
    assert context.outcome is Outcome.NO_FIX
    assert "no idea; before that: the failure is still there" in context.reason


async def test_after_a_part_is_mended_the_climb_begins_at_the_bottom_again() -> None:
    part = ScriptedFixer(
        lambda files, _: (
            [a_fix(files[PATH].replace("a - b", "a + b", 1))] if files[PATH] == BROKEN else []
        )
    )
    rest = ScriptedFixer(lambda files, _: [a_fix(files[PATH].replace("== 1", "== 0"))], Rung.MODEL)
    context = await Stage(fixers=(part, rest)).play()
    assert context.outcome is Outcome.FIXED
    assert len(part.budgets) == 2


async def test_who_tries_and_takes_back_stands_on_what_was_mended_before() -> None:
    class Trying(ScriptedFixer):
        @override
        async def propose(
            self,
            context: MissionContext,
            diagnosis: Diagnosis,
            workspace: Workspace,
            budget: FixBudget,
        ) -> AsyncIterator[Candidate | RungNote]:
            await workspace.apply_changes((a_change(PATH, "x = 1\n"),))
            await workspace.revert()
            async for proposal in super().propose(context, diagnosis, workspace, budget):
                yield proposal

    part = ScriptedFixer(
        lambda files, _: (
            [a_fix(files[PATH].replace("a - b", "a + b", 1))] if files[PATH] == BROKEN else []
        )
    )
    rest = Trying(lambda files, _: [a_fix(files[PATH].replace("== 1", "== 0"))], Rung.MODEL)
    context = await Stage(fixers=(part, rest)).play()
    assert context.outcome is Outcome.FIXED, context.reason


# --- all of it together ---------------------------------------------------------------------------


async def test_the_mock_goes_through_prompts_protocol_ledger_and_every_stage(
    tmp_path: Path,
) -> None:
    ledger = CallLedger(a_database(tmp_path))
    minds = ModelMinds({Role.JUDGE: Mock()}, ledger, Prices(), LIMITS, clock=FixedClock())
    context = await one_bug(minds.of(a_request(), RepositoryPolicy())).play()
    assert context.outcome is Outcome.FIXED, context.reason
    assert set(who(context).values()) == {"model"}
    assert {call.trouble for call in context.calls} == {None}
    assert [
        (c.description, c.type.value, c.critical, c.passed) for c in context.acceptance_criteria
    ][-1] == (
        "Mock AC 1",
        "mock",
        True,
        True,
    )
    again = await one_bug(minds.of(a_request(), RepositoryPolicy())).play()
    assert {call.remembered for call in again.calls} == {True}, (
        "what was paid for once is not asked again"
    )
    assert again.outcome is Outcome.FIXED
