"""Measure again before giving up: an unfixable failure may be a flake that was always red."""

from bot.domain.diagnosis import FailureKind, Triage
from bot.mission.failures.reports import select_targets
from bot.mission.failures.signatures import no_verdict
from bot.mission.run import Run
from bot.mission.tree import Tree
from bot.mission.triage.sequence import plan_reruns
from bot.mission.triage.site import Site, reds
from bot.mission.triage.values import Evidence, Rerun
from sandbox.types import TestReport


async def look_again(run: Run, tree: Tree) -> Triage | None:
    """Run the failing tests up to the full number of runs.

    Returns the triage of a flake if a run disagrees, else None.

    Args:
        run: The mission after triage.
        tree: Its workspace.
    """
    triage = run.context.triage
    if triage is None or triage.report is None or triage.order_dependent or triage.leaves_traces:
        return None
    red = triage.report
    # A linter's finding is no chance, and each run of a hanging test takes the time limit.
    if triage.kind is not FailureKind.BUG or red.hangs or not red.failing:
        return None
    worked_on = {name for name, times in triage.per_test_reds.items() if times == triage.runs}
    worked_on -= set(triage.base_failing)
    plan = plan_reruns(run.ports.limits, run.context.policy)
    site = Site(
        tree=tree, checkout=run.checkout, open_workspace=run.ports.open_workspace, plan=plan
    )
    evidence = await run.steps.run("triage-again", Evidence, lambda: _more(site, red, triage.runs))
    again = [reds(rerun.report, red) for rerun in evidence.reruns]
    # One test that is red in every run is reason enough to keep the first result.
    if not again or not worked_on or worked_on & frozenset.intersection(*again):
        return None
    red_runs = triage.red_runs + sum(bool(found) for found in again)
    runs = triage.runs + len(again)
    reason = f"the same commit was red in {red_runs} of {runs} runs"
    return triage.with_(kind=FailureKind.FLAKE, reason=reason, runs=runs, red_runs=red_runs)


async def _more(site: Site, red: TestReport, done: int) -> Evidence:
    """Run again until the maximum number of runs."""
    found: list[Rerun] = []
    targets, spent = select_targets(red), 0.0
    while done + len(found) < site.plan.most and spent < site.plan.wall_s:
        rerun, report = await site.run(targets, seed=done + len(found))
        spent += report.duration_s
        if not report.success and no_verdict(report):
            if not targets:
                break  # a run without names is no sign of chance
            targets = ()  # the tests cannot be run by name
            continue
        found.append(rerun)
    return Evidence(reruns=tuple(found))
