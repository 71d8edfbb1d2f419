"""TRIAGE in order: reproduce, rerun, base commit, merge; then the rules classify.

Before any edit.
"""

import asyncio
from collections.abc import Awaitable
from dataclasses import replace
from typing import TypeVar

from bot.domain.diagnosis import FailureKind, Triage
from bot.domain.mission import Outcome
from bot.domain.policy import Limits, RepositoryPolicy
from bot.mission.failures.reports import select_targets
from bot.mission.failures.signatures import NOT_THERE, no_verdict, outage
from bot.mission.run import Run
from bot.mission.steps import Ended, Steps, end
from bot.mission.tree import Tree
from bot.mission.triage.history import plan_by_history
from bot.mission.triage.infra import could_not_fetch, detect_ci_outage
from bot.mission.triage.measure import measure_green, measure_red
from bot.mission.triage.others import Ahead, run_base, run_merge
from bot.mission.triage.rates import LEAST, RunPlan
from bot.mission.triage.rules import of_a_green_run, of_a_red_run, without_a_verdict
from bot.mission.triage.site import Site, reds
from bot.mission.triage.values import Evidence, Finding, OtherCommit
from bot.mission.verifying.reproduce import Reproduction, reproduce_failures
from sandbox.types import LogReading, RunVerdict, TestReport, WorkspaceFacts

Found = TypeVar("Found")


async def triage_failure(run: Run, tree: Tree) -> Finding:
    """Measure a red check before anything is edited.

    Args:
        run: The mission with its steps, limits and CI log.
        tree: Workspace with the failing commit.
    """
    async with Ahead(run.ports.open_workspace, run.checkout) as ahead:
        return await _triage(run, tree, ahead)


async def _triage(run: Run, tree: Tree, ahead: Ahead) -> Finding:
    limits, log = run.ports.limits, run.context.ci_log
    first = await _reproduce(run, tree, ahead)
    report, facts = first.report, first.facts
    if report.success or select_targets(report):
        await ahead.stop()  # not the run that the base commit needs
    site = Site(
        tree=tree,
        checkout=run.checkout,
        open_workspace=run.ports.open_workspace,
        plan=plan_reruns(limits, run.context.policy),
    )
    if report.success:
        return Finding(facts=facts, triage=await _green(run.steps, site, first, log))
    if no_verdict(report) and outage(report, share=limits.outage_share) is None:
        base = await _run_base(run.steps, site, facts, report)
        return Finding(facts=facts, triage=without_a_verdict(report, base, facts))

    async def measure() -> Evidence:
        plan = await plan_by_history(site.plan, report, run.context.request, run.ports.recall)
        return await _evidence(replace(site, plan=plan), facts, report, ahead)

    evidence = await run.steps.run("triage-evidence", Evidence, measure)
    return Finding(
        facts=facts, triage=of_a_red_run(report, evidence, facts, limits=limits, log=log)
    )


async def _reproduce(run: Run, tree: Tree, ahead: Ahead) -> Reproduction:
    """Make the first run; beside it, the base commit's if that will be the same command.

    A set-up that fails here, and could not be fetched in CI either, is an outage.
    """
    ci_log = run.context.ci_log

    async def reproduce() -> Reproduction:
        workspace = await tree.at()
        # Tests write files, so the next use of the tree begins with a revert.
        tree.touched()
        # Findings cannot be asked for by name, so the whole command will run on the base commit.
        expected = ci_log is not None and ci_log.has_only_findings
        if expected and (await workspace.facts()).base_sha is not None:
            ahead.begin()
        return await reproduce_failures(workspace, maxfail=run.ports.limits.maxfail)

    try:
        return await run.steps.run("reproduce", Reproduction, reproduce)
    except Ended as ended:
        said = could_not_fetch(ci_log)
        if ended.trouble.outcome is not Outcome.ENV_UNBUILDABLE or said is None:
            raise
        advice = "\n\n".join(part for part in (ended.trouble.reason, ended.trouble.advice) if part)
        raise end(Outcome.INFRA, said, advice=advice) from ended


def plan_reruns(limits: Limits, policy: RepositoryPolicy) -> RunPlan:
    """Return the number of reruns.

    Args:
        limits: The operator's limits.
        policy: The repository's policy, which may ask for more.
    """
    enough = max(LEAST, limits.reruns, policy.flaky_reruns)
    return RunPlan(
        enough=enough, most=max(limits.reruns_most, enough + 1), wall_s=limits.triage_wall_s
    )


async def _green(
    steps: Steps, site: Site, first: Reproduction, ci_log: LogReading | None
) -> Triage:
    """Handle a green first run: an outage that CI reports, or a series of runs."""
    said = detect_ci_outage(ci_log, series=False)
    if said is not None:
        reason = f"{said}; here the command passes"
        return Triage(kind=FailureKind.OUTAGE, reason=reason, report=first.report, runs=1)
    named = _match_names(ci_log, first.report)

    async def measure() -> Evidence:
        beside = run_merge(site.open_workspace, site.checkout)
        evidence, merge = await _both(measure_green(site, first.report, named), beside)
        return evidence.with_(merge=merge)

    evidence = await steps.run("triage-evidence", Evidence, measure)
    return of_a_green_run(first.report, evidence, first.facts, ci_log)


def _match_names(ci_log: LogReading | None, report: TestReport) -> tuple[str, ...]:
    """Return the tests that CI named, under their names here."""
    if ci_log is None or not report.knows_tests:
        return ()
    names = ci_log.failing
    found = [
        here
        for here in report.outcomes
        if here in names or any(here.endswith(f"/{n}") for n in names)
    ]
    return tuple(sorted(found))


async def _run_base(
    steps: Steps, site: Site, facts: WorkspaceFacts, red: TestReport
) -> OtherCommit:
    """Run the whole command on the base commit if it could not even start here."""
    if (
        red.verdict is not RunVerdict.NO_VERDICT
        or red.exit_code in NOT_THERE
        or facts.base_sha is None
    ):
        return OtherCommit()
    return await steps.run(
        "triage-base",
        OtherCommit,
        lambda: run_base(site.open_workspace, site.checkout, facts, red, whole=True),
    )


async def _evidence(site: Site, facts: WorkspaceFacts, red: TestReport, ahead: Ahead) -> Evidence:
    """Rerun on the failing commit and, concurrently, on the base commit in another sandbox."""
    base = run_base(site.open_workspace, site.checkout, facts, red, ahead=ahead)
    evidence, on_base = await _both(measure_red(site, red), base)
    whole = [run for run in evidence.reruns if run.whole]
    if len(whole) < len(evidence.reruns) and whole and all(reds(run.report, red) for run in whole):
        # They fail only together: running them alone proves nothing about the base either.
        on_base = await run_base(site.open_workspace, site.checkout, facts, red, whole=True)
    return evidence.with_(base=on_base)


async def _both(
    first: Awaitable[Found], beside: Awaitable[OtherCommit]
) -> tuple[Found, OtherCommit]:
    """Run two measurements concurrently; if one fails or is cancelled, stop and await the other."""
    other = asyncio.ensure_future(beside)
    try:
        return await first, await other
    finally:
        other.cancel()
        await asyncio.gather(other, return_exceptions=True)  # report one of two errors
