"""The tamper guard before a verdict: apply a candidate's changes and screen the actual edits."""

from collections.abc import Iterable

from bot.domain.patch import Candidate, Rung
from bot.domain.policy import RepositoryPolicy
from bot.mission.tree import list_paths
from bot.policy.rules import path_refusals
from bot.ports import Workspace
from sandbox.changes import ChangePolicy, validate_edits
from sandbox.types import FileEdit, Frozen, LockRepair


class Screening(Frozen):
    """A candidate's actual edits and the objections to them."""

    edits: tuple[FileEdit, ...] = ()
    diff: str = ""
    refusals: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    asks_for_surroundings: bool = False
    """An edit adds code that reads its surroundings."""


async def screen_edits(
    candidate: Candidate, workspace: Workspace, policy: RepositoryPolicy
) -> Screening:
    """Apply the changes to a fresh workspace and screen the result.

    Args:
        candidate: Candidate for the failing commit.
        workspace: Fresh workspace with the failing commit.
        policy: Files that a fix may touch here.

    Raises:
        ChangeRejected: the changes cannot be applied.
    """
    proposed = {path for change in candidate.changes for path in list_paths(change)}
    originals = {path: await _read_bytes(workspace, path) for path in sorted(proposed)}
    await workspace.apply_changes(candidate.changes)
    edits = await workspace.changes()
    # A formatter may reformat test files if the program stays the same; a fix must not touch them.
    repair = (await workspace.facts()).lock_repair
    purpose = ChangePolicy(
        purpose="lint" if candidate.rung is Rung.TOOLS else "fix",
        allowed=find_repaired_lock(edits, repair, policy),
    )
    verdict = validate_edits(edits, originals, purpose)
    # Only proposed paths were read before, so other edits have nothing to be compared with.
    strays = tuple(
        f"{edit.path}: it is edited, but not proposed"
        for edit in edits
        if edit.path not in proposed
    )
    return Screening(
        edits=edits,
        diff=await workspace.diff(),
        refusals=(
            *verdict.reasons,
            *_other_lock(edits, repair, purpose),
            *strays,
            *path_refusals(policy, (edit.path for edit in edits)),
        ),
        doubts=tuple(f"{c.path}: {c.message}" for c in verdict.concerns if c.severity == "doubt"),
        asks_for_surroundings=any(c.rule == "surroundings" for c in verdict.concerns),
    )


def find_repaired_lock(
    edits: Iterable[FileEdit], repair: LockRepair | None, policy: RepositoryPolicy
) -> tuple[str, ...]:
    """Return the path of a lock file if its edit is what its own package manager wrote.

    Args:
        edits: The edits of a candidate.
        repair: The repair of the workspace's lock file, if it needs one.
        policy: The repository's policy, which may leave lock files to people.
    """
    if repair is None or policy.dependencies == "never":
        return ()
    written = FileEdit(path=repair.path, mode="100644", content=repair.content.encode())
    return (repair.path,) if written in edits else ()


def _other_lock(
    edits: Iterable[FileEdit], repair: LockRepair | None, purpose: ChangePolicy
) -> tuple[str, ...]:
    """Return why another lock file than the manager's is refused, as one chosen days ago."""
    if repair is None or repair.path in purpose.allowed:
        return ()
    why = f"{repair.path}: {repair.program} writes another one now"
    return (why,) if any(edit.path == repair.path for edit in edits) else ()


async def _read_bytes(workspace: Workspace, path: str) -> bytes | None:
    """Return a file's bytes at the failing commit."""
    text = await workspace.read_file(path)
    return None if text is None else text.encode("utf-8", "surrogateescape")
