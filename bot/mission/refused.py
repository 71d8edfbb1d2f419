"""Changes that people refused: never offered again unasked, whichever rung finds them."""

from collections.abc import Sequence

from bot.domain.counted import counted
from bot.domain.lesson import RememberedFix
from bot.domain.mission import MissionContext
from bot.domain.patch import Candidate, FixAttempt
from bot.domain.request import Trigger
from bot.errors import MetaAgentError
from bot.fixers.rung1_search.same_behaviour import find_alike
from bot.fixers.trials import Failure
from bot.mission.remembered import patched_files
from bot.ports import Recall, Workspace
from sandbox.changes import apply, canonical_form, paths_needed
from sandbox.errors import ChangeRejected
from sandbox.types import FileChange, KnownBehaviour

ASKED = frozenset({Trigger.COMMENT, Trigger.COMMAND_LINE})
"""Triggers by which a person asks for a fix, even for one that was refused."""
MOST = 50
"""Maximum number of refused changes to compare with."""

Result = frozenset[tuple[str, str | None]]
"""The canonical form of each file that a change writes; None for a file that it deletes."""


async def leave_out_refused(
    found: FixAttempt, failure: Failure, recall: Recall, *, compares: bool = False
) -> FixAttempt:
    """Return an attempt without candidates that equal a refused change, or behave like one.

    Layout, names of local variables and equivalent expressions make no difference. Other
    rewritings are found by running both on the same inputs.

    Args:
        found: The candidates for the workspace's tree.
        failure: The mission, and the workspace with that tree; it is left unchanged.
        recall: The lessons, which hold the refused changes.
        compares: This backend may run candidates.
    """
    if failure.context.request.trigger in ASKED or not found.candidates:
        return found
    refused = await _refused_lessons(found, failure.context, recall)
    if not refused:
        return found
    workspace = failure.workspace
    fitting = [
        changes
        for diff in dict.fromkeys(fix.diff for fix in refused)
        if (changes := await patched_files(diff, workspace))
    ]
    results = {await _result(changes, workspace) for changes in fitting} - {None}
    different = [
        candidate
        for candidate in found.candidates
        if await _result(candidate.changes, workspace) not in results
    ]
    alike = frozenset[str]()
    if compares and different:
        alike = await find_alike(
            recall,
            failure,
            {candidate.id: candidate.changes for candidate in different},
            known=fitting,
            behaviours=[KnownBehaviour(calls=fix.calls) for fix in refused if fix.calls],
        )
    kept = [candidate for candidate in different if candidate.id not in alike]
    count = len(found.candidates) - len(kept)
    if not count:
        return found
    same = "equal to" if not alike else "equal to, or behaving like,"
    left_out = counted(count, "candidate")
    note = f"left out: {left_out} {same} a change that was refused or reverted here before"
    return found.with_(
        candidates=_without_rivals(kept, found.candidates),
        refused=count,
        notes=(*found.notes, note),
    )


async def _refused_lessons(
    found: FixAttempt, context: MissionContext, recall: Recall
) -> tuple[RememberedFix, ...]:
    """Return the refused fixes of the same tests or files, newest first."""
    try:
        lessons = await recall.refused(repository_id=context.request.memory_key)
    except MetaAgentError:
        return ()
    files = {change.path for candidate in found.candidates for change in candidate.changes}
    tests = context.test_results.failing if context.test_results else frozenset()
    near = [one for one in lessons if files & set(one.files) or tests & set(one.tests)]
    return tuple(lesson.fix for lesson in near if lesson.fix is not None)[:MOST]


async def _result(changes: tuple[FileChange, ...], workspace: Workspace) -> Result | None:
    """Return the files after a change in canonical form; None if it cannot be applied."""
    try:
        texts = {path: await workspace.read_file(path) for path in paths_needed(changes)}
        read = {path: None if text is None else text.encode() for path, text in texts.items()}
        edits = apply(changes, read.get)
    except ChangeRejected:
        return None
    return frozenset(
        (edit.path, None if edit.mode == "deleted" else _form(edit.path, edit.content))
        for edit in edits
    )


def _form(path: str, content: bytes) -> str:
    text = content.decode(errors="replace")
    form = canonical_form(text) if path.endswith((".py", ".pyi")) else None
    return form or "\n".join(" ".join(line.split()) for line in text.splitlines() if line.strip())


def _without_rivals(kept: Sequence[Candidate], found: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """Return the kept candidates; rivals that were left out are no choice for a person."""
    gone = {one.id for one in found} - {one.id for one in kept}
    return tuple(
        one.with_(rivals=tuple(r for r in one.rivals if r.candidate_id not in gone)) for one in kept
    )
