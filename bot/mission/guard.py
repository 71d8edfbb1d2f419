"""The tamper guard before a verdict: apply a candidate's changes and look at what they really edit."""

from bot.domain.patch import Candidate, Rung
from bot.domain.policy import RepositoryPolicy
from bot.mission.tree import paths_of
from bot.policy.rules import forbidden
from bot.ports import Workspace
from sandbox.changes import ChangePolicy, validate_edits
from sandbox.types import FileEdit, Frozen


class Screening(Frozen):
    """What a candidate really edits, and what speaks against it."""

    edits: tuple[FileEdit, ...] = ()
    diff: str = ""
    refusals: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    asks_for_surroundings: bool = False
    """An edit adds a look at the place where it runs."""


async def screen_edits(candidate: Candidate, workspace: Workspace, policy: RepositoryPolicy) -> Screening:
    """Apply the changes to a fresh workspace and screen the result.

    Args:
        candidate: Its changes apply to the failing commit.
        workspace: Fresh, on the failing commit.
        policy: Which files a fix may touch here.

    Raises:
        ChangeRejected: the changes cannot be applied.
    """
    proposed = {path for change in candidate.changes for path in paths_of(change)}
    originals = {path: await _bytes_of(workspace, path) for path in sorted(proposed)}
    await workspace.apply_changes(candidate.changes)
    edits = await workspace.changes()
    # A tool may lay out test files anew, as long as they stay the same program; a fix may not touch them at all.
    purpose = ChangePolicy(purpose="lint" if candidate.rung is Rung.TOOLS else "fix")
    verdict = validate_edits(edits, originals, purpose)
    strays = tuple(f"{edit.path}: it is edited, but not proposed" for edit in edits if edit.path not in proposed)
    return Screening(
        edits=edits,
        diff=await workspace.diff(),
        refusals=(*verdict.reasons, *strays, *forbidden(policy, (edit.path for edit in edits))),
        doubts=tuple(f"{c.path}: {c.message}" for c in verdict.concerns if c.severity == "doubt"),
        asks_for_surroundings=any(c.rule == "surroundings" for c in verdict.concerns),
    )


async def _bytes_of(workspace: Workspace, path: str) -> bytes | None:
    """A file as the failing commit has it."""
    text = await workspace.read_file(path)
    return None if text is None else text.encode("utf-8", "surrogateescape")
