"""The runs behind a verdict: in one fresh sandbox, in a second one, and meanwhile once without the change."""

import asyncio
from contextlib import AsyncExitStack
from typing import Self

from bot.domain.diagnosis import FailureKind, Triage
from bot.domain.mission import MissionContext
from bot.domain.patch import VerifiedRun
from bot.mission.compare import gone
from bot.mission.elsewhere import Elsewhere, explain, lost_in
from bot.mission.fresh_sandbox import Change, FreshSandbox
from bot.mission.reports import slim, targets_of
from bot.mission.signatures import no_verdict
from bot.mission.uncovered import uncovered
from bot.ports import OpenWorkspace, Workspace
from sandbox.types import CHANGED, Checkout, Frozen, RunVerdict, TestReport

_SEED_AGAIN = 1
_SEED_ORDER = 2


class FreshRuns(Frozen):
    """What two fresh sandboxes showed."""

    runs: tuple[VerifiedRun, ...] = ()
    control: TestReport | None = None
    """Without the change."""
    flaky: bool = False
    """The control was not as red as before."""
    unlike: bool = False
    """The change does not give the same files in the second sandbox."""
    elsewhere: Elsewhere = Elsewhere()
    """Why the second sandbox, in other surroundings, was not green."""


class Standby:
    """A second sandbox in other surroundings, opened while the first one works; closed with its context.

    Args:
        open_workspace: Opens it.
        checkout: The failing commit.
    """

    def __init__(self, open_workspace: OpenWorkspace, checkout: Checkout) -> None:
        self.open_workspace = open_workspace
        self.checkout = checkout
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

    async def usual(self) -> Workspace:
        """Another sandbox, in the surroundings of the first one."""
        return await self._stack.enter_async_context(self.open_workspace(self.checkout))

    async def _opened(self) -> Workspace:
        checkout = self.checkout.with_(surroundings=CHANGED)
        workspace = await self._stack.enter_async_context(self.open_workspace(checkout))
        await workspace.facts()
        return workspace


async def run_fresh(workspace: Workspace, standby: Standby, change: Change, context: MissionContext) -> FreshRuns:
    """The failing tests first; the rest only as far as it can still matter.

    Args:
        workspace: The first fresh sandbox, with the change in it and nothing run yet.
        standby: The second one.
        change: What is tried.
        context: The red run, and what triage found.
    """
    later = uncovered(context)
    before = later.report if later else context.test_results
    if before is None:
        return FreshRuns()
    first = FreshSandbox(workspace, change, 1)
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
        found = await _again(full, standby, change, before, targets=targets)
        report = await control
    finally:
        control.cancel()
        await asyncio.gather(control, return_exceptions=True)  # of two that fail together, one is told
    found = found.with_(runs=(*first.runs, *found.runs))
    if report is None:
        return found
    passed = (before.failing - shaky_of(context.triage)) & report.passing
    return found.with_(control=slim(report), flaky=report.success or bool(passed))


async def _again(
    full: TestReport, standby: Standby, change: Change, before: TestReport, *, targets: tuple[str, ...]
) -> FreshRuns:
    """The runs of the second sandbox; where the suite itself asks for the usual surroundings, in those."""
    second = await _in_a_second(await standby.ready(), change, targets)
    if second is None:
        return FreshRuns(unlike=True)
    found = FreshRuns(runs=tuple(second.runs))
    if all(run.report.success for run in second.runs) and not lost_in(full, second.runs[0].report):
        return found
    elsewhere = await explain(
        second,
        full,
        before,
        checkout=standby.checkout,
        open_workspace=standby.open_workspace,
        asks=change.asks_for_surroundings,
    )
    if elsewhere.blamed or not elsewhere.bound:
        return found.with_(elsewhere=elsewhere)
    usual = await _in_a_second(await standby.usual(), change, targets)
    return FreshRuns(runs=tuple(usual.runs) if usual else (), unlike=usual is None, elsewhere=elsewhere)


async def _in_a_second(workspace: Workspace, change: Change, targets: tuple[str, ...]) -> FreshSandbox | None:
    """The same again where nothing of the first sandbox is, with other seeds; None where the edits are others."""
    await workspace.apply_changes(change.changes)
    if await workspace.changes() != change.edits:
        return None
    second = FreshSandbox(workspace, change, 2)
    await second.run("full command again", seed=_SEED_AGAIN, confirm=not targets)
    if targets:
        await second.run("other order", targets, seed=_SEED_ORDER, order="reversed", confirm=True)
    return second


async def _control(first: FreshSandbox, context: MissionContext, targets: tuple[str, ...]) -> TestReport | None:
    """The failing tests without the change, while the second sandbox is at work; None where that tells nothing."""
    later, triage = uncovered(context), context.triage
    before = later.report if later else context.test_results
    # Triage says nothing about what it did not see.
    if before is None or not _controllable(before, None if later else triage):
        return None
    together = triage is not None and triage.order_dependent
    ground = later.changes if later else ()
    return await first.without_the_change(() if together else targets, seed=_SEED_AGAIN, ground=ground)


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
