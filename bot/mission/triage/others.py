"""Run the failing tests on other commits: the base, and the merge commit that CI tests."""

from bot.mission.failures.reports import select_targets, slim
from bot.mission.failures.signatures import missing_modules, no_verdict
from bot.mission.triage.values import OtherCommit
from bot.ports import OpenWorkspace, Workspace
from sandbox.errors import HostGone, SandboxError
from sandbox.types import Checkout, GitSource, TestReport, WorkspaceFacts, stands_for

_MERGE_RUNS = 3
"""Maximum number of runs on the merge commit; the same tests must fail in all of them."""


async def run_base(
    open_workspace: OpenWorkspace,
    checkout: Checkout,
    facts: WorkspaceFacts,
    red: TestReport,
    *,
    whole: bool = False,
) -> OtherCommit:
    """Run the failing tests on the base commit; its own errors become notes.

    Args:
        open_workspace: Opens a workspace.
        checkout: The failing commit.
        facts: Facts of the workspace, such as the base commit.
        red: The red run.
        whole: Run the whole command, for failures that depend on earlier tests.
    """
    if facts.base_sha is None:
        return OtherCommit(
            note="no base commit is known, so nothing says whether it was red before"
        )
    try:
        async with open_workspace(checkout.with_(revision="base")) as workspace:
            return await _run_on_base(workspace, red, whole=whole)
    except HostGone:
        raise
    except SandboxError as error:
        return OtherCommit(note=f"the base commit could not be run: {error.message}")


async def _run_on_base(workspace: Workspace, red: TestReport, *, whole: bool) -> OtherCommit:
    """Run whole test files, because pytest runs nothing if one node id is unknown."""
    targets: tuple[str, ...] = ()
    files = await workspace.list_files() if missing_modules(red, ()) else ()
    if select_targets(red) and not whole:
        known = files or await workspace.list_files()
        wanted = sorted({name.split("::")[0] for name in red.failing})
        targets = tuple(
            f for f in wanted if any(stands_for(f, k) or k.endswith(f"/{f}") for k in known)
        )
        if not targets:
            return OtherCommit(
                checked=True, note="the failing tests do not exist on the base commit", files=files
            )
    report = await workspace.run_tests(targets=targets)
    unproven = None if report.success else no_verdict(report)
    if unproven:
        return OtherCommit(
            report=slim(report), note=f"the base commit gave no verdict: {unproven}", files=files
        )
    return OtherCommit(checked=True, report=slim(report), files=files)


async def run_merge(open_workspace: OpenWorkspace, checkout: Checkout) -> OtherCommit:
    """Run the whole command on the merge commit that CI tests for a pull request.

    Args:
        open_workspace: Opens a workspace.
        checkout: The pull request's own head.
    """
    source = checkout.source
    if not isinstance(source, GitSource) or source.merge_sha in {None, source.sha}:
        return OtherCommit()
    merged = source.with_(sha=source.merge_sha, base_sha=source.sha, merge_sha=None)
    try:
        async with open_workspace(checkout.with_(source=merged, revision="head")) as workspace:
            report = await workspace.run_tests()
            for seed in range(1, _MERGE_RUNS):
                if report.success or no_verdict(report):
                    break
                await workspace.revert()
                again = await workspace.run_tests(targets=select_targets(report), seed=seed)
                if not report.failing <= again.failing:
                    return OtherCommit(
                        note="merged with its base branch the tests are red in some runs only"
                    )
    except HostGone:
        raise
    except SandboxError as error:
        return OtherCommit(note=f"the merge with the base branch could not be run: {error.message}")
    return OtherCommit(checked=report.success or not no_verdict(report), report=slim(report))
