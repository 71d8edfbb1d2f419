"""The runs behind a verdict: in one fresh sandbox, in a second one, and meanwhile once without the change."""

import asyncio
from contextlib import AsyncExitStack
from typing import Literal, Self

from bot.domain.diagnosis import FailureKind, Triage
from bot.domain.mission import MissionContext
from bot.domain.patch import VerifiedRun
from bot.mission.compare import gone
from bot.mission.reports import bounded, slim, targets_of
from bot.mission.signatures import no_verdict
from bot.ports import OpenWorkspace, Workspace
from sandbox.types import Checkout, FileChange, FileEdit, Frozen, RunVerdict, TestOrder, TestReport

Label = Literal["failing tests", "full command", "full command again", "other order"]

_SEED_AGAIN = 1
_SEED_ORDER = 2


class Change(Frozen):
    """What is tried."""

    changes: tuple[FileChange, ...]
    edits: tuple[FileEdit, ...]
    """What it was seen to edit, and screened for."""


class FreshRuns(Frozen):
    """What two fresh sandboxes showed."""

    runs: tuple[VerifiedRun, ...] = ()
    control: TestReport | None = None
    """Without the change."""
    flaky: bool = False
    """The control was not as red as before."""
    unlike: bool = False
    """The change does not give the same files in the second sandbox."""


class Standby:
    """A second sandbox, opened while the first one works; closed with its context, whatever became of it.

    Args:
        open_workspace: Opens it.
        checkout: The failing commit.
    """

    def __init__(self, open_workspace: OpenWorkspace, checkout: Checkout) -> None:
        self._open_workspace = open_workspace
        self._checkout = checkout
        self._stack = AsyncExitStack()
        self._task: asyncio.Task[Workspace] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._task is not None and not self._task.done():
            self._task.cancel()
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)
        await self._stack.aclose()

    def begin(self) -> None:
        """Begin to open it; nothing more happens when that was begun before."""
        self._task = self._task or asyncio.create_task(self._opened())

    async def ready(self) -> Workspace:
        """The sandbox, open."""
        self.begin()
        return await self._task if self._task is not None else await self._opened()

    async def _opened(self) -> Workspace:
        workspace = await self._stack.enter_async_context(self._open_workspace(self._checkout))
        await workspace.facts()
        return workspace


class _Sandbox:
    """One fresh sandbox, and the runs made in it.

    Args:
        workspace: On the failing commit with the change, and nothing has run in it.
        change: What is tried.
        number: The first or the second.
    """

    def __init__(self, workspace: Workspace, change: Change, number: int) -> None:
        self._workspace = workspace
        self._change = change
        self._number = number
        self._clean = True
        self.runs: list[VerifiedRun] = []

    async def run(
        self, label: Label, targets: tuple[str, ...] = (), *, seed: int = 0, order: TestOrder = "given"
    ) -> TestReport:
        """One run with the change; each starts from the failing commit and the change alone, for runs write files."""
        if not self._clean:
            await self._workspace.revert()
            await self._workspace.apply_changes(self._change.changes)
        self._clean = False
        report = bounded(await self._workspace.run_tests(targets=targets, order=order, seed=seed))
        self.runs.append(VerifiedRun(label=label, report=report, sandbox=self._number, seed=seed))
        return report

    async def without_the_change(self, targets: tuple[str, ...], *, seed: int) -> TestReport:
        """One run of the failing commit as it is."""
        await self._workspace.revert()
        self._clean = False
        return await self._workspace.run_tests(targets=targets, seed=seed)


async def run_fresh(workspace: Workspace, standby: Standby, change: Change, context: MissionContext) -> FreshRuns:
    """The failing tests first; the rest only as far as it can still matter.

    Args:
        workspace: The first fresh sandbox, with the change in it and nothing run yet.
        standby: The second one.
        change: What is tried.
        context: The red run, and what triage found.
    """
    before = context.test_results
    if before is None:
        return FreshRuns()
    first = _Sandbox(workspace, change, 1)
    targets = targets_of(before)
    if targets:
        alone = await first.run("failing tests", targets)
        if not alone.success and no_verdict(alone):
            first.runs.clear()  # the names cannot be asked for one by one: the whole command decides
            targets = ()
        elif alone.success:
            standby.begin()
        elif not gone(before, alone):
            return FreshRuns(runs=tuple(first.runs))
    full = await first.run("full command")
    if not full.success:
        return FreshRuns(runs=tuple(first.runs))
    control = asyncio.create_task(_control(first, context, targets))
    try:
        second = await _in_the_second(await standby.ready(), change, targets)
        report = await control
    finally:
        control.cancel()
        await asyncio.gather(control, return_exceptions=True)  # of two that fail together, one is told
    found = FreshRuns(runs=(*first.runs, *second), unlike=not second)
    if report is None:
        return found
    passed = (before.failing - shaky_of(context.triage)) & report.passing
    return found.with_(control=slim(report), flaky=report.success or bool(passed))


async def _in_the_second(workspace: Workspace, change: Change, targets: tuple[str, ...]) -> tuple[VerifiedRun, ...]:
    """The same again where nothing of the first sandbox is, with other seeds; no run where it is not the same."""
    await workspace.apply_changes(change.changes)
    if await workspace.changes() != change.edits:
        return ()
    second = _Sandbox(workspace, change, 2)
    await second.run("full command again", seed=_SEED_AGAIN)
    if targets:
        await second.run("other order", targets, seed=_SEED_ORDER, order="reversed")
    return tuple(second.runs)


async def _control(first: _Sandbox, context: MissionContext, targets: tuple[str, ...]) -> TestReport | None:
    """The failing tests without the change, while the second sandbox is at work; None where that tells nothing."""
    before, triage = context.test_results, context.triage
    if before is None or not _controllable(before, triage):
        return None
    together = triage is not None and triage.order_dependent
    return await first.without_the_change(() if together else targets, seed=_SEED_AGAIN)


def _controllable(before: TestReport, triage: Triage | None) -> bool:
    """Whether a run without the change would tell something, at a price that can be paid.

    A linter's finding is no chance; a test that hangs would take the whole time limit again; and what depends on files
    that earlier runs left behind is green here by nature.
    """
    if before.verdict is RunVerdict.TIMEOUT or before.runner == "diagnostics":
        return False
    return triage is None or not (triage.leaves_traces or triage.kind is FailureKind.LINT)


def shaky_of(triage: Triage | None) -> frozenset[str]:
    """The tests that failed in some runs only.

    Args:
        triage: What was measured before any edit.
    """
    if triage is None:
        return frozenset()
    return frozenset(name for name, reds in triage.per_test_reds.items() if reds < triage.runs)
