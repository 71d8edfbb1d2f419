"""Puts a workspace's tree where a step expects it, so that no step relies on what another one left behind."""

from collections.abc import Awaitable, Callable
from typing import Any, cast

from bot.ports import Workspace
from sandbox.types import ChangeAction, FileChange


def compose(first: tuple[FileChange, ...], second: tuple[FileChange, ...]) -> tuple[FileChange, ...]:
    """The changes that do both, one after the other, as few as possible.

    Args:
        first: Applied to the commit.
        second: Applied to the result of the first.
    """
    changes = list(first)
    for change in second:
        same = [i for i, c in enumerate(changes) if change.path in paths_of(c)]
        merged = _merge(changes[same[0]], change) if len(same) == 1 else None
        if merged is None:
            changes.append(change)
        else:
            changes[same[0]] = merged
    return tuple(changes)


def paths_of(change: FileChange) -> tuple[str, ...]:
    """Every path a change has to do with.

    Args:
        change: What moves a file names the new path as its content.
    """
    return (change.path, change.content or "") if change.action is ChangeAction.RENAME else (change.path,)


def _merge(earlier: FileChange, later: FileChange) -> FileChange | None:
    """One change for two of the same file, or None when both are needed."""
    whole = earlier.action in {ChangeAction.REPLACE, ChangeAction.CREATE} and earlier.search_for is None
    if later.action is not ChangeAction.REPLACE or earlier.action in {ChangeAction.DELETE, ChangeAction.RENAME}:
        return None
    if later.search_for is None:
        return earlier.with_(search_for=None, content=later.content)
    if whole and earlier.content is not None and earlier.content.count(later.search_for) == 1:
        return earlier.with_(content=earlier.content.replace(later.search_for, later.content or ""))
    return None


class Tree:
    """One workspace, opened by its first use and brought to a known state before each.

    Args:
        enter: Gives the workspace, at the commit; called inside the step that needs it first, and again when it was
            lost. A mission that is replayed from its steps alone opens nothing, and trouble while opening is
            remembered like any other.
    """

    def __init__(self, enter: Callable[[], Awaitable[Workspace]]) -> None:
        self._enter = enter
        self._workspace: Workspace | None = None
        self._stands_at: tuple[FileChange, ...] | None = ()

    async def at(self, changes: tuple[FileChange, ...] = ()) -> Workspace:
        """The workspace with exactly these changes on top of the commit.

        Args:
            changes: What shall be applied; nothing means the commit itself.
        """
        if self._workspace is None:
            self._workspace = await self._enter()
            self._stands_at = ()
        if self._stands_at != changes:
            self._stands_at = None  # an error in the middle leaves it unknown
            await self._workspace.revert()
            if changes:
                await self._workspace.apply_changes(changes)
            self._stands_at = changes
        return self._workspace

    def lost(self) -> None:
        """The sandbox is gone: the next use opens another one."""
        self._workspace = None

    def touched(self) -> None:
        """Somebody edited the tree: revert before the next use."""
        self._stands_at = None


def on_ground(workspace: Workspace, changes: tuple[FileChange, ...]) -> Workspace:
    """A workspace for those who try changes on top of others: what they revert to is the tree they were given.

    Args:
        workspace: With the changes applied.
        changes: Of the commit.
    """
    return cast("Workspace", _OnGround(workspace, changes)) if changes else workspace


class _OnGround:
    """Passes everything on but `revert`."""

    def __init__(self, workspace: Workspace, changes: tuple[FileChange, ...]) -> None:
        self._workspace = workspace
        self._changes = changes

    def __getattr__(self, name: str) -> Any:
        return getattr(self._workspace, name)

    async def revert(self) -> None:
        """Back to the commit with the changes."""
        await self._workspace.revert()
        await self._workspace.apply_changes(self._changes)
