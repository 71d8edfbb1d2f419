"""Carry a verified patch over to the commit it is published on, and validate it again."""

import re
from collections.abc import Awaitable, Callable

from bot.domain.mission import Iteration, MissionContext
from bot.domain.patch import Rung, Verification
from bot.mission.verifying.guard import find_repaired_lock
from sandbox.changes import ChangePolicy, read_patch, validate_edits
from sandbox.changes.patch import MAX_PATCH_FILES
from sandbox.diffs import Original, write_diff
from sandbox.errors import ChangeRejected
from sandbox.types import FileEdit

ReadFile = Callable[[str], Awaitable[bytes | None]]
"""Reads a file of the commit by its repository path; returns None if there is none."""

_NAMED = re.compile(r"(?m)^diff --git a/\S.* b/(?P<path>\S.*)$")


async def carry_over(
    context: MissionContext, read: ReadFile, *, folder: str = "", is_own: bool = False
) -> MissionContext:
    """Convert the mission's fix to edits of the published commit.

    The patch may come from a merge commit, a dirty tree or an untrusted job. It is applied strictly
    to the files of the published commit; the result is whole files, or an error.

    Args:
        context: A mission with a fix.
        read: Reads files of the published commit.
        folder: Project folder in the repository: empty, or `sub/folder/`.
        is_own: The mission ran in this process. Only then may it replace a lock file.

    Raises:
        ChangeRejected: The patch does not match, does more than edit and create text files, or
            edits protected files.
    """
    if context.fix is None:
        return context
    candidate, verification = context.fix
    diff = verification.diff
    # One more than the limit: `read_patch` rejects a larger patch, which is never cut.
    names = list(dict.fromkeys(found["path"] for found in _NAMED.finditer(diff)))[
        : MAX_PATCH_FILES + 1
    ]
    there = {name: await read(folder + name) for name in names}
    modes = {edit.path: edit.mode for edit in verification.edits}
    edits = tuple(
        edit.with_(path=folder + edit.path, mode=_mode(modes.get(edit.path)))
        for edit in read_patch(diff.encode(), _known(there))
    )
    originals = {folder + name: content for name, content in there.items()}
    repair = context.facts.lock_repair if context.facts is not None and is_own else None
    locks = find_repaired_lock(verification.edits, repair, context.policy)
    purpose = ChangePolicy(
        purpose="lint" if candidate.rung is Rung.TOOLS else "fix",
        allowed=tuple(folder + path for path in locks),
    )
    # The mission's own verdict may come from an untrusted job, so the edits are screened again.
    verdict = validate_edits(edits, originals, purpose)
    if not verdict.accepted:
        raise ChangeRejected(
            "; ".join(verdict.reasons)[:2_000], "look at the patch and apply it by hand"
        )
    carried = verification.with_(edits=edits, diff=_diff(edits, originals))
    return context.with_(
        iterations=tuple(_replace(i, verification, carried) for i in context.iterations)
    )


def _known(there: dict[str, bytes | None]) -> Callable[[str], bytes | None]:
    """Return a reader that rejects unread files, so that none of them counts as missing."""

    def read(path: str) -> bytes | None:
        if path not in there:
            raise ChangeRejected("the patch names a file that its `diff --git` lines do not")
        return there[path]

    return read


def _mode(known: str | None) -> str:
    """Return the file mode; a patch has none, and executables must keep theirs."""
    return "100755" if known == "100755" else "100644"


def _diff(edits: tuple[FileEdit, ...], originals: dict[str, bytes | None]) -> str:
    modes = {edit.path: edit.mode for edit in edits}
    known = {
        p: Original(content=c, mode=modes.get(p, "100644"))
        for p, c in originals.items()
        if c is not None
    }
    return write_diff(edits, known)


def _replace(turn: Iteration, old: Verification, new: Verification) -> Iteration:
    return turn.with_(verification=new) if turn.verification is old else turn
