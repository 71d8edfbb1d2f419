"""Fixes of some of the failing tests: joined over several files, or proposed alone for the loop to build on."""

from collections.abc import Collection, Mapping, Sequence

from bot.domain.patch import Candidate, Rung
from bot.fixers.rung1_search.changes import changes_of, identity_of
from sandbox.types import NearMiss, TrialDone

MAX_ALONE = 2
SCORE = 0.3
"""A part of a fix is believed less than any whole one."""


def partial_fixes(near: Sequence[NearMiss], failing: Collection[str]) -> tuple[tuple[NearMiss, ...], ...]:
    """What is worth proposing when nothing mends everything: a set over several files first, then single ones."""
    ranked = sorted(range(len(near)), key=lambda i: (-len(set(near[i].fixed) & set(failing)), i))
    useful = [near[i] for i in ranked if set(near[i].fixed) & set(failing)]
    joined: list[NearMiss] = []
    covered: set[str] = set()
    for one in useful:
        # The sandbox has tried to join edits of one file already; here only other files can help.
        if set(one.fixed) - covered and all(one.path != other.path for other in joined):
            joined.append(one)
            covered |= set(one.fixed)
    alone = tuple((one,) for one in useful[:MAX_ALONE])
    return ((tuple(joined), *alone) if len(joined) > 1 else alone) if useful else ()


def partial_candidate(
    fixes: Sequence[NearMiss], failing: Collection[str], done: TrialDone, originals: Mapping[str, str]
) -> Candidate | None:
    """Partial fixes, at most one of each file, as one change; None when they do not fit the files."""
    edits = tuple(edit for fix in fixes for edit in fix.edits)
    changes = changes_of(edits, originals)
    if changes is None:
        return None
    mended = {name for fix in fixes for name in fix.fixed} & set(failing)
    told = f"makes {len(mended)} of {len(failing)} failing tests pass and breaks none"
    places = ", ".join(f"{fix.path}:{fix.line}" for fix in fixes)
    return Candidate(
        id=identity_of(edits),
        rung=Rung.SEARCH,
        fixer="search",
        template="+".join(fix.template for fix in fixes),
        title=f"{fixes[0].path}: {told}"[:120],
        explanation=f"An edit at {places} {told}. {done.tried} candidates tried; no single edit mends all of them.",
        changes=changes,
        candidates_tried=done.tried,
        warnings=() if len(mended) == len(failing) else (told,),
        partial=len(mended) < len(failing),
        score=SCORE,
        seconds=done.seconds,
    )
