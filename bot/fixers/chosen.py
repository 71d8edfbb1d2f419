"""Fixer for a change that a person chose from an earlier report."""

from collections.abc import AsyncIterator

from bot.domain.diagnosis import Diagnosis
from bot.domain.mission import MissionContext
from bot.domain.patch import Candidate, FixBudget, Rung, RungNote
from bot.domain.registry import ProposedChange
from bot.ports import Workspace
from sandbox.types import ChangeAction, FileChange, FileEdit, TestReport


class ChosenFixer:
    """The only rung of a mission that continues with a person's choice.

    Args:
        change: The chosen change; None if it is no longer stored.
        head_sha: The commit the change was made for. It holds whole files, so it fits no other.
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
        """Return the rung that produced the change."""
        return Rung(self._change.rung) if self._change else Rung.TOOLS

    def applies(self, report: TestReport) -> bool:
        """Return True for every red run: a person chose the change for this one."""
        return not report.success

    async def propose(
        self,
        context: MissionContext,
        diagnosis: Diagnosis,  # noqa: ARG002 - required by the port
        workspace: Workspace,
        budget: FixBudget,  # noqa: ARG002 - required by the port
    ) -> AsyncIterator[Candidate | RungNote]:
        """Yield the chosen change, or a note with the reason why it is unavailable."""
        change = self._change
        if change is None:
            yield RungNote(reason="the chosen change is no longer stored")
            return
        # Whole files of an older commit would revert later changes.
        if context.request.head_sha != self._head_sha:
            yield RungNote(reason="the branch moved on since the change was shown")
            return
        try:
            changes = [
                made
                for edit in change.edits
                if (made := await _as_file_change(edit, workspace)) is not None
            ]
        except UnicodeDecodeError:
            yield RungNote(reason="the chosen change contains a file that is not text")
            return
        if not changes:
            yield RungNote(reason="the branch already contains the chosen change")
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
            score=1.0,
            confident=True,  # chosen by a person
            calls=change.calls,
            alike=change.alike,
        )


async def _as_file_change(edit: FileEdit, workspace: Workspace) -> FileChange | None:
    """Convert an edit to a change of this tree; return None if the file already matches."""
    there = await workspace.read_file(edit.path)
    if edit.mode == "deleted":
        return FileChange(action=ChangeAction.DELETE, path=edit.path) if there is not None else None
    wanted = edit.content.decode()
    if there == wanted:
        return None
    action = ChangeAction.CREATE if there is None else ChangeAction.REPLACE
    return FileChange(action=action, path=edit.path, content=wanted)
