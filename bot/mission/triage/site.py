"""Where triage runs: the mission's own workspace, put back before each run, and sandboxes of their own."""

from dataclasses import dataclass

from bot.mission.reports import slim
from bot.mission.tree import Tree
from bot.mission.triage.rates import RunPlan
from bot.mission.triage.values import Rerun
from bot.ports import OpenWorkspace
from sandbox.errors import HostGone, SandboxError
from sandbox.types import Checkout, RunVerdict, TestOrder, TestReport, stands_for

_CUT_OFF = frozenset({RunVerdict.TIMEOUT, RunVerdict.OOM})


@dataclass(frozen=True)
class Site:
    """Runs the failing commit again, each time from a fresh tree."""

    tree: Tree
    checkout: Checkout
    open_workspace: OpenWorkspace
    plan: RunPlan

    async def run(
        self, targets: tuple[str, ...] = (), *, seed: int, order: TestOrder = "given", fresh: bool = False
    ) -> tuple[Rerun, TestReport]:
        """One run: as it is remembered, and in full.

        A run that a limit of ours ended before it could name a test says more about this machine than about the
        commit: it is made once more, and then counts.

        Args:
            targets: Tests to run alone; nothing means the whole command.
            seed: Another one for each run, so that neither hashing nor shuffling is the same twice.
            order: In which order.
            fresh: In a sandbox of its own; where none can be had, the tree put back has to do.
        """
        rerun, report = await self._once(targets, seed, order, fresh=fresh)
        if report.verdict in _CUT_OFF and not report.failing:
            rerun, report = await self._once(targets, seed, order, fresh=fresh)
        return rerun, report

    async def _once(
        self, targets: tuple[str, ...], seed: int, order: TestOrder, *, fresh: bool
    ) -> tuple[Rerun, TestReport]:
        report = await self._anew(targets, seed=seed, order=order) if fresh else None
        anew = report is not None
        if report is None:
            report = await self._again(targets, seed=seed, order=order)
        return Rerun(report=lean(report), whole=not targets, order=order, seed=seed, fresh=anew), report

    async def _again(self, targets: tuple[str, ...], *, seed: int, order: TestOrder) -> TestReport:
        workspace = await self.tree.at()
        self.tree.touched()  # tests write files: the next run, whoever starts it, begins with a revert
        return await workspace.run_tests(targets=targets, order=order, seed=seed)

    async def _anew(self, targets: tuple[str, ...], *, seed: int, order: TestOrder) -> TestReport | None:
        try:
            async with self.open_workspace(self.checkout) as workspace:
                return await workspace.run_tests(targets=targets, order=order, seed=seed)
        except HostGone:
            raise
        except SandboxError:
            return None


def lean(report: TestReport) -> TestReport:
    """A report of which only what failed is remembered.

    Args:
        report: One run.
    """
    failing = report.failing
    return slim(report).with_(outcomes={name: status for name, status in report.outcomes.items() if name in failing})


def reds(report: TestReport, red: TestReport) -> frozenset[str]:
    """Which failures of the red run another run shows again; a run without names has one, the command.

    Args:
        report: Another run on the same commit.
        red: The red run.
    """
    if not red.failing:
        return frozenset() if report.success else frozenset({red.target})
    again = {n for n in red.failing if "::" not in n and any(stands_for(n, f) for f in report.failing)}
    return frozenset(report.failing & red.failing | again)


def failures_of(red: TestReport) -> frozenset[str]:
    """What can be counted of a red run.

    Args:
        red: The red run.
    """
    return red.failing or frozenset({red.target})
