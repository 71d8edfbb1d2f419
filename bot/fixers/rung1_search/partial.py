"""Fixes for some of the failing tests: joined across files, or proposed alone."""

from collections.abc import Collection, Mapping, Sequence

from bot.domain.counted import counted
from bot.domain.patch import Candidate, Rung
from bot.fixers.rung1_search.changes import edited_files, hash_edits
from sandbox.types import SearchNearMiss, TrialDone

MAX_ALONE = 2
SCORE = 0.3
"""Score of a partial fix, below that of any complete fix."""


def partial_fixes(
    near: Sequence[SearchNearMiss], failing: Collection[str]
) -> tuple[tuple[SearchNearMiss, ...], ...]:
    """Return partial fixes worth proposing: a set across files first, then single ones."""
    ranked = sorted(range(len(near)), key=lambda i: (-len(set(near[i].fixed) & set(failing)), i))
    useful = [near[i] for i in ranked if set(near[i].fixed) & set(failing)]
    joined: list[SearchNearMiss] = []
    covered: set[str] = set()
    for one in useful:
        # The sandbox has already tried to join edits of one file; only other files can add tests.
        if set(one.fixed) - covered and all(one.path != other.path for other in joined):
            joined.append(one)
            covered |= set(one.fixed)
    alone = tuple((one,) for one in useful[:MAX_ALONE])
    return ((tuple(joined), *alone) if len(joined) > 1 else alone) if useful else ()


def partial_candidate(
    fixes: Sequence[SearchNearMiss],
    failing: Collection[str],
    done: TrialDone,
    originals: Mapping[str, str],
) -> Candidate | None:
    """Combine partial fixes, at most one per file; return None if one does not fit its file."""
    edits = tuple(edit for fix in fixes for edit in fix.edits)
    changes = edited_files(edits, originals)
    if changes is None:
        return None
    mended = {name for fix in fixes for name in fix.fixed} & set(failing)
    result = f"makes {len(mended)} of {counted(len(failing), 'failing test')} pass and breaks none"
    places = ", ".join(f"{fix.path}:{fix.line}" for fix in fixes)
    return Candidate(
        id=hash_edits(edits),
        rung=Rung.SEARCH,
        fixer="search",
        template="+".join(fix.template for fix in fixes),
        title=f"{fixes[0].path}: {result}"[:120],
        explanation=f"An edit at {places} {result}. {counted(done.tried, 'candidate')} tried; "
        f"no single edit fixes all of them.",
        changes=changes,
        candidates_tried=done.tried,
        warnings=() if len(mended) == len(failing) else (result,),
        partial=len(mended) < len(failing),
        score=SCORE,
        # The edits were not run together, nor compared with other changes.
        confident=False,
        seconds=done.seconds,
    )
