"""The runs behind a verdict: in two fresh sandboxes, and once without the change."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Self, TypeVar

from bot.domain.diagnosis import FailureKind, Triage
from bot.domain.mission import MissionContext
from bot.domain.patch import VerifiedRun
from bot.mission.failures.reports import select_targets, slim
from bot.mission.failures.signatures import no_verdict
from bot.mission.verifying.compare import fails_otherwise, find_renamed, gone, missing_tests
from bot.mission.verifying.elsewhere import Elsewhere, explain, lost_in
from bot.mission.verifying.fresh_sandbox import Change, FreshSandbox
from bot.mission.verifying.uncovered import uncovered
from bot.ports import OpenWorkspace, Workspace
from sandbox.types import CHANGED, Checkout, Frozen, RunVerdict, TestReport

# The first sandbox runs with seed 0, so these differ from it and from each other.
_SEED_AGAIN = 1
_SEED_ORDER = 2
_QUICK_S = 60.0
"""Commands up to this duration, in seconds, run in both sandboxes at once. Slower ones might reach
their time limit beside each other."""

Found = TypeVar("Found")


class FreshRuns(Frozen):
    """Results of the runs in two fresh sandboxes."""

    runs: tuple[VerifiedRun, ...] = ()
    control: TestReport | None = None
    """The run without the change."""
    flaky: bool = False
    """The run without the change was not as red as before."""
    unlike: bool = False
    """The change gives different files in the second sandbox."""
    elsewhere: Elsewhere = Elsewhere()
    """Causes of a failure in the second sandbox, which has other surroundings."""
    dependent: tuple[str, ...] = ()
    """Tests that pass in the whole command and fail when only the failing tests run."""
    renamed: frozenset[str] = frozenset()
    """Tests of the red run that have another name in each run, as with the time in it."""


class Standby:
    """A second sandbox in other surroundings, opened in the background while the first one works.

    It is closed with its context.

    Args:
        open_workspace: Opens a workspace.
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
        """Start opening the sandbox; later calls have no effect."""
        self._task = self._task or asyncio.create_task(self._opened())

    async def ready(self) -> Workspace:
        """Return the open sandbox."""
        self.begin()
        return await self._task if self._task is not None else await self._opened()

    async def usual(self) -> Workspace:
        """Return another sandbox, in the surroundings of the first one."""
        return await self._stack.enter_async_context(self.open_workspace(self.checkout))

    async def _opened(self) -> Workspace:
        checkout = self.checkout.with_(surroundings=CHANGED)
        workspace = await self._stack.enter_async_context(self.open_workspace(checkout))
        # A workspace opens on first use: open it now, while the first sandbox still works.
        await workspace.facts()
        return workspace


async def run_fresh(
    workspace: Workspace, standby: Standby, change: Change, context: MissionContext
) -> FreshRuns:
    """Run the failing tests first, then the rest in both sandboxes while it still matters.

    Args:
        workspace: The first fresh sandbox, with the change applied and no run yet.
        standby: The second one.
        change: The change under test.
        context: The mission with its red run and triage.
    """
    later = uncovered(context)
    before = later.report if later else context.test_results
    if before is None:
        return FreshRuns()
    first = FreshSandbox(workspace, change, 1)
    alone = await _run_alone(first, before, standby)
    if alone is None:
        return FreshRuns(runs=tuple(first.runs))
    targets, dependent = alone.targets, alone.dependent
    async with AsyncExitStack() as stack:

        async def begin(work: Coroutine[None, None, Found]) -> asyncio.Task[Found]:
            return await stack.enter_async_context(_in_background(work))

        # The verdict on a likely candidate needs the second sandbox, so both work at once.
        is_beside = alone.is_likely and _is_quick(before, context.triage)
        second = await begin(_in_a_second(standby, change, targets)) if is_beside else None
        full = await first.run("full command")
        if not full.success:
            return FreshRuns(runs=tuple(first.runs))
        unknown = missing_tests(before, [full])
        # Only the whole command without the change shows which names are steady.
        control = await begin(_control(first, context, () if dependent or unknown else targets))
        second = second or await begin(_in_a_second(standby, change, targets))
        found = await _compare(full, second, standby, change, before=before, targets=targets)
        report = await control
    found = found.with_(runs=(*first.runs, *found.runs), dependent=dependent)
    if report is None:
        return found
    # A flaky test may be green without the change; a steady one must be red.
    passed = (before.failing - find_shaky(context.triage)) & report.passing
    renamed = find_renamed(before, report) if len(full.passing) >= len(before.passing) else ()
    return found.with_(
        control=slim(report),
        flaky=report.success or bool(passed),
        renamed=frozenset(unknown).intersection(renamed),
    )


class _Alone(Frozen):
    """The result of the failing tests, run alone."""

    targets: tuple[str, ...] = ()
    """Tests to run by name in the other runs."""
    dependent: tuple[str, ...] = ()
    is_likely: bool = True
    """Nothing speaks against the candidate so far."""


async def _run_alone(first: FreshSandbox, before: TestReport, standby: Standby) -> _Alone | None:
    """Run the failing tests alone if they have names; return None if the change repairs none."""
    targets = select_targets(before)
    if not targets:
        standby.begin()
        return _Alone()
    alone = await first.run("failing tests", targets)
    # The second sandbox is only worth opening for a candidate that passes so far.
    if alone.success:
        standby.begin()
        return _Alone(targets=targets)
    if no_verdict(alone) or fails_otherwise(before, alone):
        # Run by name, these find no test or miss what earlier tests set up: whole runs decide.
        first.runs.clear()
        return _Alone(
            targets=tuple(name for name in targets if name in alone.passing),
            dependent=tuple(sorted(alone.failing)),
            is_likely=False,
        )
    return _Alone(targets=targets, is_likely=False) if gone(before, alone) else None


def _is_quick(before: TestReport, triage: Triage | None) -> bool:
    """Return True if two runs of the whole command at once stay far below the time limit."""
    known = before.duration_s if triage is None else max(before.duration_s, triage.longest_s)
    return known <= _QUICK_S


@asynccontextmanager
async def _in_background(
    work: Coroutine[None, None, Found],
) -> AsyncIterator[asyncio.Task[Found]]:
    """Run work in the background. On leaving, stop it and wait for its end."""
    task = asyncio.create_task(work)
    try:
        yield task
    finally:
        task.cancel()
        # If several fail, only one of the errors is raised.
        await asyncio.gather(task, return_exceptions=True)


async def _compare(
    full: TestReport,
    running: Awaitable[FreshSandbox | None],
    standby: Standby,
    change: Change,
    *,
    before: TestReport,
    targets: tuple[str, ...],
) -> FreshRuns:
    """Return the runs of the second sandbox. A suite bound to the usual surroundings runs there."""
    second = await running
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
    usual = await _run_again(await standby.usual(), change, targets)
    return FreshRuns(
        runs=tuple(usual.runs) if usual else (), unlike=usual is None, elsewhere=elsewhere
    )


async def _in_a_second(
    standby: Standby, change: Change, targets: tuple[str, ...]
) -> FreshSandbox | None:
    """Repeat the runs in the second sandbox."""
    return await _run_again(await standby.ready(), change, targets)


async def _run_again(
    workspace: Workspace, change: Change, targets: tuple[str, ...]
) -> FreshSandbox | None:
    """Repeat the runs in a second sandbox with other seeds; None if the edits differ there."""
    await workspace.apply_changes(change.changes)
    # The guard screened the edits of the first sandbox, so these must be the same.
    if await workspace.changes() != change.edits:
        return None
    second = FreshSandbox(workspace, change, 2)
    # The last run is confirmed by known-answer copies: of the tests it names, or of a sample.
    await second.run("full command again", seed=_SEED_AGAIN, confirm=not targets)
    if targets:
        await second.run("other order", targets, seed=_SEED_ORDER, order="reversed", confirm=True)
    return second


async def _control(
    first: FreshSandbox, context: MissionContext, targets: tuple[str, ...]
) -> TestReport | None:
    """Run the failing tests without the change, while the second sandbox works.

    Returns:
        The run, or None where it would show nothing.
    """
    later, triage = uncovered(context), context.triage
    before = later.report if later else context.test_results
    # Triage has no data on failures that it did not see.
    if before is None or not _controllable(before, None if later else triage):
        return None
    together = triage is not None and triage.order_dependent
    ground = later.changes if later else ()
    return await first.without_the_change(
        () if together else targets, seed=_SEED_AGAIN, ground=ground
    )


def _controllable(before: TestReport, triage: Triage | None) -> bool:
    """Return True if a run without the change is informative and affordable.

    Where nothing was red, it would be green. A linter's finding is never chance. A test that hangs
    would take the whole time limit again. A test that depends on files of earlier runs is always
    green here.
    """
    if before.success or before.verdict is RunVerdict.TIMEOUT or before.traits.is_findings:
        return False
    return triage is None or not (triage.leaves_traces or triage.kind is FailureKind.LINT)


def find_shaky(triage: Triage | None) -> frozenset[str]:
    """Return the tests that failed in some runs only.

    Args:
        triage: The measurements before any edit.
    """
    if triage is None:
        return frozenset()
    return frozenset(name for name, reds in triage.per_test_reds.items() if reds < triage.runs)
