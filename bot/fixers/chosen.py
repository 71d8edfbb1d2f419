"""Propose exactly the change a person chose: it was shown before, and is verified like any other."""

from collections.abc import AsyncIterator

from bot.domain.diagnosis import Diagnosis
from bot.domain.mission import MissionContext
from bot.domain.patch import Candidate, FixBudget, Rung, RungNote
from bot.domain.registry import ProposedChange
from bot.ports import Workspace
from sandbox.types import ChangeAction, FileChange, FileEdit, TestReport


class ChosenFixer:
    """The only rung of a mission that goes on with a person's choice.

    Args:
        change: What was chosen; None when it is not kept any more.
        head_sha: The commit it was made for. It holds whole files, so it fits no other.
    """

    def __init__(self, change: ProposedChange | None, head_sha: str | None) -> None:
        self._change = change
        self._head_sha = head_sha

    @property
    def name(self) -> str:
        """`choice`."""
        return "choice"

    @property
    def rung(self) -> Rung:
        """Where the change came from."""
        return Rung(self._change.rung) if self._change else Rung.TOOLS

    def applies(self, report: TestReport) -> bool:
        """Return True for every red run: a person chose the change for this one."""
        return not report.success

    async def propose(
        self,
        context: MissionContext,
        diagnosis: Diagnosis,  # noqa: ARG002 - the port's: there is nothing to look for
        workspace: Workspace,
        budget: FixBudget,  # noqa: ARG002 - the port's: there is nothing to spend
    ) -> AsyncIterator[Candidate | RungNote]:
        """The change, once; a note says why it cannot be had."""
        change = self._change
        if change is None:
            yield RungNote(reason="the change that was chosen is not kept any more")
            return
        if context.request.head_sha != self._head_sha:
            yield RungNote(reason="the branch moved on since the change was shown")
            return
        try:
            changes = [made for edit in change.edits if (made := await _change(edit, workspace)) is not None]
        except UnicodeDecodeError:
            yield RungNote(reason="the change that was chosen holds a file that is not text")
            return
        if not changes:
            yield RungNote(reason="the change that was chosen is made already")
            return
        yield Candidate(
            id=change.patch_id or "choice",
            rung=self.rung,
            fixer=self.name,
            template=change.template,
            title=change.title,
            explanation=change.explanation,
            changes=tuple(changes),
            candidates_tried=1,
            score=1.0,  # a person said so
        )


async def _change(edit: FileEdit, workspace: Workspace) -> FileChange | None:
    """An edit as a change of this tree; None when the file is like that already."""
    there = await workspace.read_file(edit.path)
    if edit.mode == "deleted":
        return FileChange(action=ChangeAction.DELETE, path=edit.path) if there is not None else None
    wanted = edit.content.decode()
    if there == wanted:
        return None
    action = ChangeAction.CREATE if there is None else ChangeAction.REPLACE
    return FileChange(action=action, path=edit.path, content=wanted)
