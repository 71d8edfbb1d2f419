"""The sandboxes of triage: the mission's own workspace, reverted before each run, or fresh ones."""

from dataclasses import dataclass

from bot.mission.failures.reports import slim
from bot.mission.tree import Tree
from bot.mission.triage.rates import RunPlan
from bot.mission.triage.values import Rerun
from bot.ports import OpenWorkspace
from sandbox.errors import HostGone, SandboxError
from sandbox.types import Checkout, RunVerdict, TestOrder, TestReport, stands_for

_CUT_OFF = frozenset({RunVerdict.TIMEOUT, RunVerdict.OOM})


@dataclass(frozen=True)
class Site:
    """Runs the failing commit repeatedly, each time from a clean tree."""

    tree: Tree
    checkout: Checkout
    open_workspace: OpenWorkspace
    plan: RunPlan

    async def run(
        self,
        targets: tuple[str, ...] = (),
        *,
        seed: int,
        order: TestOrder = "given",
        fresh: bool = False,
    ) -> tuple[Rerun, TestReport]:
        """Run once; return a report to store, and the full one.

        A run that our own limit ended before it named a test says more about this machine than
        about the commit. It is repeated once, and then counts.

        Args:
            targets: Tests to run alone; none for the whole command.
            seed: A seed per run, so that hashing and shuffling differ.
            order: The order of tests.
            fresh: Use a sandbox of its own; without one, the reverted tree.
        """
        rerun, report = await self._once(targets, seed, order, fresh=fresh)
        if report.verdict in _CUT_OFF and not report.failing:
            rerun, report = await self._once(targets, seed, order, fresh=fresh)
        return rerun, report

    async def _once(
        self, targets: tuple[str, ...], seed: int, order: TestOrder, *, fresh: bool
    ) -> tuple[Rerun, TestReport]:
        report = await self._anew(targets, seed=seed, order=order) if fresh else None
        is_clean = report is not None
        if report is None:
            report = await self._again(targets, seed=seed, order=order)
        return Rerun(
            report=lean(report), whole=not targets, order=order, seed=seed, fresh=is_clean
        ), report

    async def _again(self, targets: tuple[str, ...], *, seed: int, order: TestOrder) -> TestReport:
        workspace = await self.tree.at()
        self.tree.touched()  # tests write files: the next run begins with a revert
        return await workspace.run_tests(targets=targets, order=order, seed=seed)

    async def _anew(
        self, targets: tuple[str, ...], *, seed: int, order: TestOrder
    ) -> TestReport | None:
        try:
            async with self.open_workspace(self.checkout) as workspace:
                return await workspace.run_tests(targets=targets, order=order, seed=seed)
        except HostGone:
            raise
        except SandboxError:
            return None


def lean(report: TestReport) -> TestReport:
    """Return a report with only its failures.

    Args:
        report: One run.
    """
    failing = report.failing
    return slim(report).with_(
        outcomes={name: status for name, status in report.outcomes.items() if name in failing}
    )


def reds(report: TestReport, red: TestReport) -> frozenset[str]:
    """Return the failures of the red run that another run shows again; without names, the command.

    Args:
        report: Another run on the same commit.
        red: The red run.
    """
    if not red.failing:
        return frozenset() if report.success else frozenset({red.target})
    again = {
        n for n in red.failing if "::" not in n and any(stands_for(n, f) for f in report.failing)
    }
    return frozenset(report.failing & red.failing | again)


def list_failures(red: TestReport) -> frozenset[str]:
    """Return the countable failures of a red run.

    Args:
        red: The red run.
    """
    return red.failing or frozenset({red.target})
