"""run_mission: triage, then the loop from analyze to verify, until an outcome is reached."""

import logging
from collections.abc import Callable
from contextlib import AsyncExitStack

from bot.domain.decision import Action, NextAction
from bot.domain.diagnosis import Diagnosis, FailureKind
from bot.domain.mission import MissionContext, Outcome
from bot.domain.model import Judging
from bot.domain.patch import Rung
from bot.domain.plan import Plan
from bot.domain.policy import RepositoryPolicy
from bot.domain.request import Depth, MissionRequest
from bot.domain.verdict import ConfidenceAssessment, Critique, MetaEvaluation, Route
from bot.errors import MetaAgentError
from bot.mission.attempts import FixState, try_fixes
from bot.mission.failures.reports import narrowed
from bot.mission.fix import usable_rungs
from bot.mission.judging.alone import decide_alone, free_first
from bot.mission.judging.confidence import assess_confidence
from bot.mission.judging.critique import critique_plan
from bot.mission.judging.critique_by_model import critique_by_model
from bot.mission.judging.decide import decide_next_action, question_for
from bot.mission.judging.decide_by_model import decide_by_model
from bot.mission.judging.evaluate import evaluate_reasoning
from bot.mission.judging.evaluate_by_model import evaluate_by_model
from bot.mission.judging.judge_by_model import Judgement, judge_by_model
from bot.mission.judging.plan import plan_fix, refine_plan
from bot.mission.judging.plan_by_model import plan_by_model, refine_by_model
from bot.mission.judging.think import Thinking, think
from bot.mission.pinning import pin_behaviour
from bot.mission.run import MissionPorts, Run, what_is_spent
from bot.mission.start import begin, run_on
from bot.mission.steps import Ended, Trouble, end
from bot.mission.tree import Tree
from bot.mission.triage import OUTCOMES, look_again, note_earlier_endings, triage_failure
from bot.mission.verifying.fresh_runs import find_shaky
from bot.policy.rules import allows
from sandbox.changes import is_protected
from sandbox.errors import SandboxError
from sandbox.types import Checkout, FileChange, LogReading

__all__ = ["MissionPorts", "run_mission"]

log = logging.getLogger(__name__)

_MERGE_QUESTION = (
    "Can the base branch be merged into this branch first, so that the failure can be "
    "repaired there?"
)


async def run_mission(
    request: MissionRequest,
    policy: RepositoryPolicy,
    checkout: Checkout,
    ports: MissionPorts,
    *,
    starting_from: tuple[FileChange, ...] = (),
    ci_log: LogReading | None = None,
) -> MissionContext:
    """Run one mission, from a red check to its one outcome.

    Expected errors become an outcome; only cancellation escapes.

    Args:
        request: The request.
        policy: The repository's policy.
        checkout: The failing commit.
        ports: External dependencies.
        starting_from: The partial fix of an earlier mission.
        ci_log: The red job's log as read.
    """
    run = await begin(request, policy, checkout, ports, ci_log=ci_log)
    stack = AsyncExitStack()
    try:
        tree = Tree(lambda: stack.enter_async_context(ports.open_workspace(checkout)))

        async def lost() -> None:
            tree.lost()
            await _close(stack, request.mission_id)

        run.steps.lost = lost
        trouble = await _to_its_end(run, tree, starting_from)
        await note_earlier_endings(run, trouble)
        await pin_behaviour(run, trouble)
    finally:
        await _close(stack, request.mission_id)
        await run.steps.close()
    return run.finish(trouble)


async def _to_its_end(run: Run, tree: Tree, starting_from: tuple[FileChange, ...]) -> Trouble:
    """Run triage, then the loop until something ends it; return what ended it."""
    try:
        return await _worked_on(run, tree, starting_from)
    except Ended as ended:
        return ended.trouble


async def _worked_on(run: Run, tree: Tree, starting_from: tuple[FileChange, ...]) -> Trouble:
    """Run the loop and return what ended it; before it gives up, measure for a flake again."""
    ground = await _triage(run, tree, starting_from)
    run.end_iteration()  # the time of triage is spent before the first iteration
    if run.context.request.depth is Depth.REPRODUCE:
        return _as_asked(run.context, "only a reproduction was asked for")
    try:
        while run.context.budget.allows_another_iteration:
            ground = await _iterate(run, tree, ground)
            run.end_iteration()
        return Trouble(outcome=Outcome.BUDGET, reason=what_is_spent(run.context.budget))
    except Ended as ended:
        # With a partial fix the mission ends as PARTIAL: a change had an effect.
        if ended.trouble.outcome is not Outcome.NO_FIX or run.context.fix is not None:
            raise
        if run.context.request.depth is not Depth.FIX:
            raise
        try:
            flake = await look_again(run, tree)
        except Ended as again:
            # Without time for a second measurement the first result counts.
            raise (ended if again.trouble.outcome is Outcome.BUDGET else again) from again
        if flake is None:
            raise
        run.know(triage=flake)
        raise end(Outcome.FLAKY, flake.reason) from ended


def _as_asked(context: MissionContext, why: str) -> Trouble:
    """End with a diagnosis, if the request asks for nothing more."""
    found = context.triage.reason if context.triage else "the failure was reproduced"
    return Trouble(
        outcome=Outcome.NO_FIX, reason=f"{found}; {why}", advice="`/metaagent fix` looks for a fix"
    )


async def _close(stack: AsyncExitStack, mission_id: str) -> None:
    """Close the workspace; an error while closing changes no result."""
    try:
        await stack.aclose()
    except (SandboxError, MetaAgentError) as error:
        log.warning("closing a workspace failed: %s", error.message, extra={"mission": mission_id})


async def _triage(run: Run, tree: Tree, starting_from: tuple[FileChange, ...]) -> FixState:
    """Measure before any edit; continue only with a bug or a linter's finding."""
    finding = await triage_failure(run, tree)
    facts, triage = finding.facts, finding.triage
    run.know(
        facts=facts, triage=triage, test_results=triage.report, test_command=facts.recipe.command
    )
    if triage.kind in OUTCOMES:
        question = _MERGE_QUESTION if triage.kind is FailureKind.MERGE_ONLY else None
        raise end(OUTCOMES[triage.kind], triage.reason, question=question)
    if triage.report is None:
        raise end(Outcome.ERROR, "triage named a bug without a run that shows it")
    # Tests that are red by chance, or on the base commit too, are not this mission's.
    left_out = find_shaky(triage) | set(triage.base_failing)
    report = await run_on(run, tree, starting_from) if starting_from else triage.report
    return FixState(changes=starting_from, report=narrowed(report, left_out), left_out=left_out)


async def _iterate(run: Run, tree: Tree, ground: FixState) -> FixState:
    """Run one iteration: understand, plan, judge, decide, then try."""
    run.begin_iteration()
    report = ground.report

    async def analyze() -> Thinking:
        workspace = await tree.at(ground.changes)
        return await think(run.context, report, workspace, run.ports.recall, mind=run.mind)

    thinking = await run.stage("analyze", Thinking, analyze, detail=report.summary)
    run.note(diagnosis=thinking.diagnosis)
    run.know(lessons=thinking.lessons or run.context.lessons)
    if run.context.request.depth is Depth.EXPLAIN:
        raise Ended(_as_asked(run.context, "only the cause was asked for"))
    usable = usable_rungs(run.context, run.ports.fixers, report)
    rungs = frozenset(rung for rung in usable if rung >= ground.from_rung)
    await _plan(run, ground, rungs)
    action = await _decide(run, ground, rungs, thinking.alone)
    if action.decision.action is Action.ASK_HUMAN and run.mind.judging is Judging.WHEN_UNSURE:
        action = await _judge(run, tree, ground, action)
    run.note(next_action=action)
    run.know(acceptance_criteria=action.updated_acceptance_criteria)
    match action.decision.action:
        case Action.RUN_WORKER:
            return await try_fixes(run, tree, ground, run.context.diagnosis or thinking.diagnosis)
        case Action.RETRY_WITH_CONTEXT:
            return ground.with_(retried=True)
        case Action.ASK_HUMAN:
            raise end(
                Outcome.NEEDS_HUMAN,
                action.decision.reason,
                question=question_for(thinking.diagnosis),
            )
        case Action.MARK_COMPLETE | Action.ABORT:
            raise end(Outcome.NO_FIX, action.decision.reason)


async def _decide(
    run: Run, ground: FixState, rungs: frozenset[Rung], alone: Diagnosis | None
) -> NextAction:
    """Decide the next action; a model's doubts never block what is free."""
    retried = ground.retried
    action = await run.judge(
        "decide",
        NextAction,
        lambda: decide_next_action(run.context, retried=retried),
        lambda mind, rules: decide_by_model(mind, rules, run.context, retried=retried),
    )
    if alone is None:
        return action
    by_rules = decide_alone(
        run.context, alone, ground.report, rungs, _protect_paths(run), retried=retried
    )
    return free_first(action, by_rules)


async def _judge(run: Run, tree: Tree, ground: FixState, unsure: NextAction) -> NextAction:
    """Ask a model once before a person is asked; return the decision with its judgement."""
    now = run.context.iterations[-1]
    if now.diagnosis is None or now.plan is None or now.critique is None:
        return unsure
    rules = Judgement(diagnosis=now.diagnosis, plan=now.plan, critique=now.critique)
    doubt = unsure.decision.reason

    async def judge() -> Judgement:
        workspace = await tree.at(ground.changes)
        return await run.mind.or_rules(
            rules,
            lambda mind, found: judge_by_model(mind, found, run.context, workspace, doubt=doubt),
        )

    judged = await run.stage("judge", Judgement, judge, detail=doubt)
    if judged.by != "model":
        return unsure.with_(by=judged.by)
    run.note(diagnosis=judged.diagnosis, plan=judged.plan)
    await _weigh(run, again="-judged", critique=judged.critique)
    return await run.judge(
        "decide-judged", NextAction, lambda: decide_next_action(run.context, retried=True)
    )


def _protect_paths(run: Run) -> Callable[[str], bool]:
    """Return a predicate for paths that must not be edited here."""
    return lambda path: is_protected(path) or not allows(run.context.policy, (path,))


async def _plan(run: Run, ground: FixState, rungs: frozenset[Rung]) -> None:
    """Plan, criticise, evaluate, weigh; once more if the route asks for it."""
    facts, diagnosis = run.context.facts, run.context.diagnosis
    if facts is None or diagnosis is None:
        raise end(Outcome.ERROR, "there is nothing to plan from")
    plan = await run.judge(
        "plan",
        Plan,
        lambda: plan_fix(diagnosis, ground.report, facts, rungs),
        lambda mind, rules: plan_by_model(mind, rules, run.context, rungs),
    )
    run.note(plan=plan)
    # Only the first plan sets the criteria; a later one must not lower the goal.
    if not run.context.acceptance_criteria:
        run.know(acceptance_criteria=plan.acceptance_criteria)
    if await _weigh(run) is Route.REPLAN and (critique := run.context.iterations[-1].critique):
        criticised = (plan, critique)
        refined = await run.judge(
            "replan",
            Plan,
            lambda: refine_plan(plan, critique, rungs),
            lambda mind, rules: refine_by_model(
                mind, rules, run.context, rungs, criticised=criticised
            ),
        )
        run.note(plan=refined, replanned=True)
        await _weigh(run, again="-again")


async def _weigh(run: Run, *, again: str = "", critique: Critique | None = None) -> Route:
    """Run critic, meta-evaluation and confidence; a given critique is not made again."""
    iteration = run.context.iterations[-1]
    if iteration.diagnosis is None or iteration.plan is None:
        raise end(Outcome.ERROR, "there is nothing to weigh")
    diagnosis, plan = iteration.diagnosis, iteration.plan
    found = critique or await run.judge(
        f"critique{again}",
        Critique,
        lambda: critique_plan(plan, is_protected=_protect_paths(run)),
        lambda mind, rules: critique_by_model(mind, rules, plan, diagnosis),
    )
    meta = await run.judge(
        f"evaluate{again}",
        MetaEvaluation,
        lambda: evaluate_reasoning(diagnosis, plan, found),
        lambda mind, rules: evaluate_by_model(mind, rules, diagnosis, plan, critique=found),
    )
    confidence = await run.judge(
        f"confidence{again}",
        ConfidenceAssessment,
        lambda: assess_confidence(diagnosis.confidence, plan.confidence, found, meta),
    )
    run.note(critique=found, meta=meta, confidence=confidence)
    return confidence.action
