"""One fresh sandbox of a verdict: runs with a change, and without it, each from the failing commit."""

from typing import Literal

from bot.domain.patch import VerifiedRun
from bot.mission.reports import bounded
from bot.ports import Workspace
from sandbox.types import FileChange, FileEdit, Frozen, TestOrder, TestReport

Label = Literal["failing tests", "full command", "full command again", "other order"]


class Change(Frozen):
    """What is tried."""

    changes: tuple[FileChange, ...]
    edits: tuple[FileEdit, ...]
    """What it was seen to edit, and screened for."""
    asks_for_surroundings: bool = False
    """An edit adds a look at the place where it runs: path, user, host, time zone, locale, environment."""


class FreshSandbox:
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
        self,
        label: Label,
        targets: tuple[str, ...] = (),
        *,
        seed: int = 0,
        order: TestOrder = "given",
        confirm: bool = False,
    ) -> TestReport:
        """One run with the change; each starts from the failing commit and the change alone, for runs write files."""
        report = bounded(await self._with_the_change(targets, seed=seed, order=order, confirm=confirm))
        self.runs.append(VerifiedRun(label=label, report=report, sandbox=self._number, seed=seed))
        return report

    async def once_more(self) -> TestReport:
        """The whole command with the change as the first sandbox ran it; no part of the proof."""
        return await self._with_the_change(())

    async def _with_the_change(
        self, targets: tuple[str, ...], *, seed: int = 0, order: TestOrder = "given", confirm: bool = False
    ) -> TestReport:
        if not self._clean:
            await self._workspace.revert()
            await self._workspace.apply_changes(self._change.changes)
        self._clean = False
        return await self._workspace.run_tests(targets=targets, order=order, seed=seed, confirm=confirm)

    async def without_the_change(
        self, targets: tuple[str, ...], *, seed: int, ground: tuple[FileChange, ...] = ()
    ) -> TestReport:
        """One run of the failing commit as it is, or with the partial fix the change stands on."""
        await self._workspace.revert()
        if ground:
            await self._workspace.apply_changes(ground)
        self._clean = False
        return await self._workspace.run_tests(targets=targets, seed=seed)
