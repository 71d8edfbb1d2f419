"""Carry a verified patch over to the commit it is published on: read as data, checked again, byte for byte."""

import re
from collections.abc import Awaitable, Callable

from bot.domain.mission import Iteration, MissionContext
from bot.domain.patch import Rung, Verification
from sandbox.changes import ChangePolicy, read_patch, validate_edits
from sandbox.changes.patch import MAX_PATCH_FILES
from sandbox.diffs import Original, write_diff
from sandbox.errors import ChangeRejected
from sandbox.types import FileEdit

ReadFile = Callable[[str], Awaitable[bytes | None]]
"""A file of the commit, by its path in the repository; None when there is none."""

_NAMED = re.compile(r"(?m)^diff --git a/\S.* b/(?P<path>\S.*)$")


async def carry_over(context: MissionContext, read: ReadFile, *, folder: str = "") -> MissionContext:
    """The mission with its fix as edits of the commit that is published on.

    A patch that was made on a merge, on a dirty tree or by a job whose word is not believed is applied strictly to
    what stands at that commit; it comes out as whole files, or not at all.

    Args:
        context: A mission with a fix.
        read: Gives the files of that commit.
        folder: Where the project stands in the repository: empty, or `sub/folder/`.

    Raises:
        ChangeRejected: the patch does not match, does more than change and create text files, or touches what no fix
            may touch.
    """
    if context.fix is None:
        return context
    candidate, verification = context.fix
    diff = verification.diff
    names = list(dict.fromkeys(found["path"] for found in _NAMED.finditer(diff)))[: MAX_PATCH_FILES + 1]
    there = {name: await read(folder + name) for name in names}
    modes = {edit.path: edit.mode for edit in verification.edits}
    edits = tuple(
        edit.with_(path=folder + edit.path, mode=_mode(modes.get(edit.path)))
        for edit in read_patch(diff.encode(), _known(there))
    )
    originals = {folder + name: content for name, content in there.items()}
    purpose = ChangePolicy(purpose="lint" if candidate.rung is Rung.TOOLS else "fix")
    verdict = validate_edits(edits, originals, purpose)
    if not verdict.accepted:
        raise ChangeRejected("; ".join(verdict.reasons)[:2_000], "look at the patch and apply it by hand")
    carried = verification.with_(edits=edits, diff=_diff(edits, originals))
    return context.with_(iterations=tuple(_replaced(i, verification, carried) for i in context.iterations))


def _known(there: dict[str, bytes | None]) -> Callable[[str], bytes | None]:
    """Gives what stands at that commit; a file nobody asked for must not be taken for one that is not there."""

    def read(path: str) -> bytes | None:
        if path not in there:
            raise ChangeRejected("the patch names a file that its `diff --git` lines do not")
        return there[path]

    return read


def _mode(known: str | None) -> str:
    """A patch says nothing of modes: an executable stays one."""
    return "100755" if known == "100755" else "100644"


def _diff(edits: tuple[FileEdit, ...], originals: dict[str, bytes | None]) -> str:
    modes = {edit.path: edit.mode for edit in edits}
    known = {p: Original(content=c, mode=modes.get(p, "100644")) for p, c in originals.items() if c is not None}
    return write_diff(edits, known)


def _replaced(turn: Iteration, old: Verification, new: Verification) -> Iteration:
    return turn.with_(verification=new) if turn.verification is old else turn
