"""TRIAGE: reproduce, rerun, base commit, signatures: bug, flake, base red, outage, not buildable. Before any edit."""

import asyncio
from collections.abc import Awaitable, Callable

from bot.domain.diagnosis import FailureKind, Triage
from bot.domain.mission import Outcome
from bot.domain.policy import Limits, RepositoryPolicy
from bot.mission.reports import reds_of, slim, targets_of
from bot.mission.reproduce import Reproduction, reproduce_failures
from bot.mission.signatures import missing_modules, no_verdict, outage
from bot.mission.steps import Steps
from bot.mission.tree import Tree
from bot.ports import OpenWorkspace, Workspace
from sandbox.errors import SandboxError
from sandbox.types import Checkout, Frozen, RunVerdict, StepKind, TestReport, WorkspaceFacts

OUTCOMES = {
    FailureKind.FLAKE: Outcome.FLAKY,
    FailureKind.BASE_RED: Outcome.BASE_RED,
    FailureKind.OUTAGE: Outcome.INFRA,
    FailureKind.NOT_REPRODUCED: Outcome.NOT_REPRODUCED,
    FailureKind.NOT_BUILDABLE: Outcome.ENV_UNBUILDABLE,
}
"""The kinds that end a mission before any edit."""

_MIN_RERUNS = 3


class BaseRun(Frozen):
    """The failing tests on the base commit."""

    checked: bool = False
    """Whether it says something about the failing tests."""
    report: TestReport | None = None
    note: str = ""


class Evidence(Frozen):
    """What was measured about a red run."""

    reruns: tuple[TestReport, ...] = ()
    """The failing tests alone, again."""
    whole: tuple[TestReport, ...] = ()
    """The whole command again, when the failing tests pass alone; until a run disagrees with the first."""
    base: BaseRun = BaseRun()
    files: tuple[str, ...] = ()
    """The checkout's files; only filled when a missing module has to be told from a mistyped one."""


class Finding(Frozen):
    """What triage found: the facts, and what kind of failure it is."""

    facts: WorkspaceFacts
    triage: Triage


async def triage_failure(
    steps: Steps,
    tree: Tree,
    checkout: Checkout,
    *,
    open_workspace: OpenWorkspace,
    limits: Limits,
    policy: RepositoryPolicy,
) -> Finding:
    """Measure a red check before anything is edited.

    Args:
        steps: Remembers each measurement.
        tree: The workspace on the failing commit.
        checkout: Opened again on the base commit.
        open_workspace: Opens it.
        limits: How many reruns, which share is an outage.
        policy: May ask for more reruns.
    """

    async def reproduce() -> Reproduction:
        return await reproduce_failures(await tree.at(), maxfail=limits.maxfail)

    first = await steps.run("reproduce", Reproduction, reproduce)
    reports = [first.report]
    if first.report.success:
        again = await steps.run("triage-rerun-1", Reproduction, reproduce)
        reports.append(again.report)
    red = next((r for r in reports if not r.success), None)
    if red is None or (no_verdict(red) and outage(red, share=limits.outage_share) is None):
        return Finding(facts=first.facts, triage=_without_failures(reports, red))

    async def gather() -> Evidence:
        reruns = max(_MIN_RERUNS, limits.reruns, policy.flaky_reruns)
        if red.verdict is RunVerdict.TIMEOUT:
            reruns = 1  # each would take the whole time limit again
        return await _gather(tree, red, reruns, lambda: _base(open_workspace, checkout, first.facts, red))

    evidence = await steps.run("triage-evidence", Evidence, gather)
    return Finding(
        facts=first.facts, triage=_by_rules(reports, red, evidence=evidence, facts=first.facts, limits=limits)
    )


async def _gather(tree: Tree, red: TestReport, reruns: int, base: Callable[[], Awaitable[BaseRun]]) -> Evidence:
    """Reruns on the failing commit and, beside them, the base commit in a sandbox of its own."""
    beside = asyncio.ensure_future(base())
    try:
        alone = await _rerun(tree, red, reruns)
        base_run = await beside
    finally:
        if not beside.done():
            beside.cancel()
            await asyncio.gather(beside, return_exceptions=True)
    return alone.with_(base=base_run)


async def _rerun(tree: Tree, red: TestReport, reruns: int) -> Evidence:
    """The failing tests alone, several times; the whole command once more when they all pass alone."""
    workspace = await tree.at()
    targets = targets_of(red)
    reports: list[TestReport] = []
    while len(reports) < reruns:
        report = slim(await workspace.run_tests(targets=targets))
        if targets and not report.success and no_verdict(report):
            targets = ()  # the names cannot be asked for one by one
        else:
            reports.append(report)
    whole: list[TestReport] = []
    if targets and not any(reds_of(r, red) for r in reports):
        # Either they depend on what runs before them, or chance had its hand in it: one more red run cannot tell.
        while len(whole) < reruns and (not whole or reds_of(whole[-1], red)):
            whole.append(slim(await workspace.run_tests()))
    files = await workspace.list_files() if missing_modules(red, ()) else ()
    return Evidence(reruns=tuple(reports), whole=tuple(whole), files=files)


async def _base(open_workspace: OpenWorkspace, checkout: Checkout, facts: WorkspaceFacts, red: TestReport) -> BaseRun:
    """The failing tests on the base commit; every trouble there is a note, never the mission's end."""
    if facts.base_sha is None:
        return BaseRun(note="no base commit is known, so nothing says whether it was red before")
    try:
        async with open_workspace(checkout.with_(revision="base")) as workspace:
            return await _run_on_base(workspace, red)
    except SandboxError as error:
        return BaseRun(note=f"the base commit could not be run: {error.message}")


async def _run_on_base(workspace: Workspace, red: TestReport) -> BaseRun:
    """Whole test files, because one unknown node id makes pytest run nothing at all."""
    targets: tuple[str, ...] = ()
    if targets_of(red):
        known = await workspace.list_files()
        wanted = sorted({name.split("::")[0] for name in red.failing})
        targets = tuple(f for f in wanted if any(k == f or k.endswith(f"/{f}") for k in known))
        if not targets:
            return BaseRun(checked=True, note="the failing tests do not exist on the base commit")
    report = await workspace.run_tests(targets=targets)
    unproven = None if report.success else no_verdict(report)
    if unproven:
        return BaseRun(report=slim(report), note=f"the base commit gave no verdict: {unproven}")
    return BaseRun(checked=True, report=slim(report))


def _without_failures(reports: list[TestReport], red: TestReport | None) -> Triage:
    """Green again, or red without anything that failed by name."""
    if red is None:
        reason = f"the command passed in {len(reports)} of {len(reports)} runs on the failing commit"
        return Triage(kind=FailureKind.NOT_REPRODUCED, reason=reason, report=reports[0], runs=len(reports))
    reason = no_verdict(red) or "the command gave no verdict"
    runs, reds = len(reports), sum(not r.success for r in reports)
    return Triage(kind=FailureKind.NOT_BUILDABLE, reason=reason, report=red, runs=runs, red_runs=reds)


def _by_rules(
    reports: list[TestReport], red: TestReport, *, evidence: Evidence, facts: WorkspaceFacts, limits: Limits
) -> Triage:
    """What kind of failure the measurements show."""
    counted = _counts(reports, red, evidence)
    sign = outage(red, share=limits.outage_share)
    if sign:
        return counted.with_(kind=FailureKind.OUTAGE, reason=_outage_reason(red, sign))
    missing = missing_modules(red, evidence.files)
    if missing and _fails_alike_on_base(red, evidence.base):
        names = ", ".join(f"`{m}`" for m in missing)
        reason = f"the tests cannot be imported: {names} is neither installed nor part of the repository"
        return counted.with_(kind=FailureKind.NOT_BUILDABLE, reason=reason)
    steady = {name for name, reds in counted.per_test_reds.items() if reds == counted.runs}
    if not steady:
        reason = f"the same commit was red in {counted.red_runs} of {counted.runs} runs"
        return counted.with_(kind=FailureKind.FLAKE, reason=reason)
    if steady <= set(counted.base_failing):
        who = "the failing test fails" if len(steady) == 1 else f"all {len(steady)} failing tests fail"
        reason = f"{who} on the base commit in the same way"
        return counted.with_(kind=FailureKind.BASE_RED, reason=reason)
    return counted.with_(notes=_notes(counted, steady), kind=_kind(red, facts), reason=_bug_reason(counted))


def _counts(reports: list[TestReport], red: TestReport, evidence: Evidence) -> Triage:
    """The arithmetic: runs, red runs, per test, base."""
    alone = [r for r in evidence.reruns if r.failing or no_verdict(r) is None]
    runs = [*reports, *alone]
    notes = (evidence.base.note,) if evidence.base.note else ()
    if evidence.whole and all(reds_of(r, red) for r in evidence.whole):
        # They pass alone and fail together, every time: order dependence, which is a bug and not a flake.
        runs = [*reports, *evidence.whole]
        notes = (*notes, "the failing tests pass when they run alone: they depend on tests that run before them")
    else:
        runs += evidence.whole
    base = evidence.base.report
    return Triage(
        kind=FailureKind.BUG,
        reason="",
        report=red,
        runs=len(runs),
        red_runs=sum(bool(reds_of(r, red)) for r in runs),
        per_test_reds={name: sum(name in reds_of(r, red) for r in runs) for name in sorted(red.failing)},
        base_failing=_failing_alike(red, base) if base and evidence.base.checked else (),
        base_checked=evidence.base.checked,
        notes=notes,
    )


def _failing_alike(red: TestReport, base: TestReport) -> tuple[str, ...]:
    """Tests that fail on the base commit too, for a reason of the same class."""
    if red.runner == "diagnostics":
        there = {_without_line(name) for name in base.failing}
        return tuple(sorted(name for name in red.failing if _without_line(name) in there))
    here, before = ({f.name: f.error for f in r.failures} for r in (red, base))
    both = red.failing & base.failing
    return tuple(sorted(n for n in both if None in {here.get(n), before.get(n)} or here[n] == before[n]))


def _without_line(name: str) -> str:
    """`path:line:rule` without the line, which moves between commits."""
    path, _, rest = name.partition(":")
    return f"{path}:{rest.rpartition(':')[2]}"


def _fails_alike_on_base(red: TestReport, base: BaseRun) -> bool:
    """Whether nothing shows that this commit itself removed the module."""
    return not base.checked or base.report is None or bool(_failing_alike(red, base.report))


def _kind(red: TestReport, facts: WorkspaceFacts) -> FailureKind:
    """A finding of a linter or formatter, or a bug."""
    lint = facts.recipe.kind in {StepKind.LINT, StepKind.FORMAT} or red.runner == "diagnostics"
    return FailureKind.LINT if lint else FailureKind.BUG


def _notes(counted: Triage, steady: set[str]) -> tuple[str, ...]:
    """What a reader must know besides the kind."""
    notes = list(counted.notes)
    shaky = sorted(set(counted.per_test_reds) - steady)
    if shaky:
        notes.append(f"flaky, left out: {', '.join(shaky[:5])}")
    old = sorted(steady & set(counted.base_failing))
    if old:
        notes.append(
            f"{len(old)} of {len(steady)} failing tests were red on the base commit already: {', '.join(old[:5])}"
        )
    return tuple(notes)


def _bug_reason(counted: Triage) -> str:
    """Why this is worth a fix."""
    on_base = "green on the base commit" if counted.base_checked else "the base commit was not checked"
    if counted.base_failing:
        on_base = "partly red on the base commit"
    return f"red in {counted.red_runs} of {counted.runs} runs, {on_base}"


def _outage_reason(red: TestReport, sign: str) -> str:
    """What an outage looks like to a reader."""
    failing = f"all {len(red.failing)} failing tests" if len(red.failing) > 1 else "the failing test"
    failing = failing if red.failing else "the command"
    return f"{failing} could not reach something outside: {sign}"
