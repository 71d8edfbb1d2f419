"""One fresh sandbox of a verdict: runs with and without a change, each from the failing commit."""

from typing import Literal

from bot.domain.patch import VerifiedRun
from bot.mission.failures.reports import bounded
from bot.ports import Workspace
from sandbox.types import FileChange, FileEdit, Frozen, TestOrder, TestReport

Label = Literal["failing tests", "full command", "full command again", "other order"]


class Change(Frozen):
    """A change under test."""

    changes: tuple[FileChange, ...]
    edits: tuple[FileEdit, ...]
    """Its edits as observed in a workspace and screened."""
    asks_for_surroundings: bool = False
    """An edit adds code that reads path, user, host, time zone, locale or environment."""


class FreshSandbox:
    """One fresh sandbox and its runs.

    Args:
        workspace: The failing commit with the change, before any run.
        change: The change under test.
        number: 1 or 2.
    """

    def __init__(self, workspace: Workspace, change: Change, number: int) -> None:
        self._workspace = workspace
        self._change = change
        self._number = number
        self._clean = True
        self.runs: list[VerifiedRun] = []

    async def run(
        self,
        label: Label,
        targets: tuple[str, ...] = (),
        *,
        seed: int = 0,
        order: TestOrder = "given",
        confirm: bool = False,
    ) -> TestReport:
        """Run once with the change. Each run starts from a clean tree, because runs write files.

        Args:
            label: Name of the run.
            targets: Tests to run; the whole command by default.
            seed: The seed of the run.
            order: The order of the tests.
            confirm: Also run known-answer copies of the tests.
        """
        report = bounded(
            await self._with_the_change(targets, seed=seed, order=order, confirm=confirm)
        )
        self.runs.append(VerifiedRun(label=label, report=report, sandbox=self._number, seed=seed))
        return report

    async def once_more(self) -> TestReport:
        """Repeat the whole command as the first sandbox ran it; the result proves nothing."""
        return await self._with_the_change(())

    async def _with_the_change(
        self,
        targets: tuple[str, ...],
        *,
        seed: int = 0,
        order: TestOrder = "given",
        confirm: bool = False,
    ) -> TestReport:
        if not self._clean:
            await self._workspace.revert()
            await self._workspace.apply_changes(self._change.changes)
        self._clean = False
        return await self._workspace.run_tests(
            targets=targets, order=order, seed=seed, confirm=confirm
        )

    async def without_the_change(
        self, targets: tuple[str, ...], *, seed: int, ground: tuple[FileChange, ...] = ()
    ) -> TestReport:
        """Run the failing commit as it is, or with the partial fix below the change."""
        await self._workspace.revert()
        if ground:
            await self._workspace.apply_changes(ground)
        self._clean = False
        return await self._workspace.run_tests(targets=targets, seed=seed)
