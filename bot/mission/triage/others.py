"""Run the failing tests on other commits: the base, and the merge commit that CI tests."""

import asyncio
from typing import Self

from bot.errors import MetaAgentError
from bot.mission.failures.reports import select_targets, slim
from bot.mission.failures.signatures import missing_modules, no_verdict
from bot.mission.triage.values import OtherCommit
from bot.ports import OpenWorkspace, Workspace
from sandbox.errors import HostGone, SandboxError
from sandbox.types import Checkout, GitSource, TestReport, WorkspaceFacts, stands_for

_MERGE_RUNS = 3
"""Maximum number of runs on the merge commit; the same tests must fail in all of them."""


class Ahead:
    """The whole command on the base commit, begun beside the first run of the failing one.

    It is stopped with its context.

    Args:
        open_workspace: Opens a workspace.
        checkout: The failing commit.
    """

    def __init__(self, open_workspace: OpenWorkspace, checkout: Checkout) -> None:
        self._open_workspace = open_workspace
        self._checkout = checkout.with_(revision="base")
        self._running: asyncio.Task[tuple[tuple[str, ...], TestReport]] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    def begin(self) -> None:
        """Start the run; later calls have no effect."""
        self._running = self._running or asyncio.create_task(self._run())

    async def _run(self) -> tuple[tuple[str, ...], TestReport]:
        async with self._open_workspace(self._checkout) as workspace:
            return await workspace.list_files(), await workspace.run_tests()

    async def result(self) -> tuple[tuple[str, ...], TestReport] | None:
        """Return the commit's files and the report, once; None if the run has to be made again."""
        # A step that is tried again must not meet the error of its first try.
        running, self._running = self._running, None
        try:
            return await running if running is not None else None
        except (SandboxError, MetaAgentError):
            return None

    async def stop(self) -> None:
        """Stop the run. Idempotent."""
        if self._running is not None:
            self._running.cancel()
            await asyncio.gather(self._running, return_exceptions=True)
            self._running = None


async def run_base(
    open_workspace: OpenWorkspace,
    checkout: Checkout,
    facts: WorkspaceFacts,
    red: TestReport,
    *,
    whole: bool = False,
    ahead: Ahead | None = None,
) -> OtherCommit:
    """Run the failing tests on the base commit; its own errors become notes.

    Args:
        open_workspace: Opens a workspace.
        checkout: The failing commit.
        facts: Facts of the workspace, such as the base commit.
        red: The red run.
        whole: Run the whole command, for failures that depend on earlier tests.
        ahead: A run of the whole command that may have begun already.
    """
    if facts.base_sha is None:
        return OtherCommit(
            note="no base commit is known, so nothing says whether it was red before"
        )
    try:
        begun = await ahead.result() if ahead is not None else None
        if begun is not None:
            files, report = begun
            return _read_base(report, files if missing_modules(red, ()) else ())
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
    return _read_base(await workspace.run_tests(targets=targets), files)


def _read_base(report: TestReport, files: tuple[str, ...]) -> OtherCommit:
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
