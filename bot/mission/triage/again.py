"""A second look before giving up: a failure that no change mends may be a flake that was red every time so far."""

from bot.domain.diagnosis import FailureKind, Triage
from bot.mission.reports import targets_of
from bot.mission.run import Run
from bot.mission.signatures import no_verdict
from bot.mission.tree import Tree
from bot.mission.triage.sequence import plan_of
from bot.mission.triage.site import Site, reds
from bot.mission.triage.values import Evidence, Rerun
from sandbox.types import TestReport


async def look_again(run: Run, tree: Tree) -> Triage | None:
    """Run what failed up to the full number of runs; the triage of a flake when a run disagrees, else None.

    Args:
        run: The mission, with what triage found.
        tree: Its workspace.
    """
    triage = run.context.triage
    if triage is None or triage.report is None or triage.order_dependent or triage.leaves_traces:
        return None
    red = triage.report
    if triage.kind is not FailureKind.BUG or red.hangs or not red.failing:
        return None
    worked_on = {name for name, times in triage.per_test_reds.items() if times == triage.runs}
    worked_on -= set(triage.base_failing)
    plan = plan_of(run.ports.limits, run.context.policy)
    site = Site(tree=tree, checkout=run.checkout, open_workspace=run.ports.open_workspace, plan=plan)
    evidence = await run.steps.run("triage-again", Evidence, lambda: _more(site, red, triage.runs))
    again = [reds(rerun.report, red) for rerun in evidence.reruns]
    if not again or not worked_on or worked_on & frozenset.intersection(*again):
        return None
    red_runs = triage.red_runs + sum(bool(found) for found in again)
    runs = triage.runs + len(again)
    reason = f"the same commit was red in {red_runs} of {runs} runs"
    return triage.with_(kind=FailureKind.FLAKE, reason=reason, runs=runs, red_runs=red_runs)


async def _more(site: Site, red: TestReport, done: int) -> Evidence:
    """More runs, until all there may be are made."""
    found: list[Rerun] = []
    targets, spent = targets_of(red), 0.0
    while done + len(found) < site.plan.most and spent < site.plan.wall_s:
        rerun, report = await site.run(targets, seed=done + len(found))
        spent += report.duration_s
        if not report.success and no_verdict(report):
            if not targets:
                break  # a run that names nothing is no sign of chance
            targets = ()  # the names cannot be asked for one by one
            continue
        found.append(rerun)
    return Evidence(reruns=tuple(found))
