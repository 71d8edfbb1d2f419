"""Bring a workspace's tree into the state that a step expects."""

from collections.abc import Awaitable, Callable
from typing import Any, cast

from bot.ports import Workspace
from sandbox.types import ChangeAction, FileChange


def compose(
    first: tuple[FileChange, ...], second: tuple[FileChange, ...]
) -> tuple[FileChange, ...]:
    """Return the changes that do both, one after the other, as few as possible.

    Args:
        first: Changes to the commit.
        second: Changes to the result of the first.
    """
    changes = list(first)
    for change in second:
        # Two earlier changes of one path (a move, then an edit) cannot be merged into one.
        same = [i for i, c in enumerate(changes) if change.path in list_paths(c)]
        merged = _merge(changes[same[0]], change) if len(same) == 1 else None
        if merged is None:
            changes.append(change)
        else:
            changes[same[0]] = merged
    return tuple(changes)


def list_paths(change: FileChange) -> tuple[str, ...]:
    """Return every path of a change.

    Args:
        change: A change; a move has the new path as its content.
    """
    return (
        (change.path, change.content or "")
        if change.action is ChangeAction.RENAME
        else (change.path,)
    )


def _merge(earlier: FileChange, later: FileChange) -> FileChange | None:
    """Return one change for two of the same file; None if both are needed."""
    whole = (
        earlier.action in {ChangeAction.REPLACE, ChangeAction.CREATE} and earlier.search_for is None
    )
    if later.action is not ChangeAction.REPLACE or earlier.action in {
        ChangeAction.DELETE,
        ChangeAction.RENAME,
    }:
        return None
    if later.search_for is None:
        return earlier.with_(search_for=None, content=later.content)
    # Only a unique match says where the later change applies.
    if whole and earlier.content is not None and earlier.content.count(later.search_for) == 1:
        return earlier.with_(content=earlier.content.replace(later.search_for, later.content or ""))
    return None


class Tree:
    """One workspace, opened on first use and brought to a known state before each use.

    Args:
        enter: Opens the workspace at the commit, in the first step that needs it and after a loss.
            A replay opens nothing. An error while opening is stored like any other.
    """

    def __init__(self, enter: Callable[[], Awaitable[Workspace]]) -> None:
        self._enter = enter
        self._workspace: Workspace | None = None
        self._stands_at: tuple[FileChange, ...] | None = ()

    async def at(self, changes: tuple[FileChange, ...] = ()) -> Workspace:
        """Return the workspace with exactly these changes on top of the commit.

        Args:
            changes: The changes to apply; none for the commit itself.
        """
        if self._workspace is None:
            self._workspace = await self._enter()
            self._stands_at = ()
        if self._stands_at != changes:
            self._stands_at = None  # after an error in between its state is unknown
            await self._workspace.revert()
            if changes:
                await self._workspace.apply_changes(changes)
            self._stands_at = changes
        return self._workspace

    def lost(self) -> None:
        """Forget a lost sandbox; the next use opens another one."""
        self._workspace = None

    def touched(self) -> None:
        """Note that the tree was edited; it is reverted before the next use."""
        self._stands_at = None


def rebase_workspace(workspace: Workspace, changes: tuple[FileChange, ...]) -> Workspace:
    """Return a workspace that reverts to the given changes instead of to the commit.

    Args:
        workspace: Workspace with the changes applied.
        changes: Changes to the commit.
    """
    return cast("Workspace", _RebasedWorkspace(workspace, changes)) if changes else workspace


class _RebasedWorkspace:
    """A workspace proxy whose `revert` restores the changes."""

    def __init__(self, workspace: Workspace, changes: tuple[FileChange, ...]) -> None:
        self._workspace = workspace
        self._changes = changes

    def __getattr__(self, name: str) -> Any:
        return getattr(self._workspace, name)

    async def revert(self) -> None:
        """Restore the commit with the changes."""
        await self._workspace.revert()
        await self._workspace.apply_changes(self._changes)
