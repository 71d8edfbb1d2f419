"""Recalled fixes: changes that repaired the same failure before, to be verified first."""

import hashlib
import itertools
from collections.abc import Iterable, Iterator, Sequence

from bot.domain.counted import counted
from bot.domain.lesson import Lesson
from bot.domain.mission import MissionContext, Outcome
from bot.domain.patch import Candidate, FixAttempt, Rung
from bot.errors import MetaAgentError
from bot.fixers.ladder import find_first_rung
from bot.mission.judging.analyze import fingerprint
from bot.ports import Fixer, Recall, Workspace
from sandbox.changes import FilePatch, PatchHunk, parse_patch
from sandbox.errors import ChangeRejected
from sandbox.types import ChangeAction, FileChange

FIXER = "memory"
REFUSED = frozenset({"closed", "reverted"})
"""Fates of a fix that people did not want."""
MOST = 2
"""Maximum number of recalled fixes to verify."""


async def recall_fixes(
    context: MissionContext, workspace: Workspace, fixers: Iterable[Fixer]
) -> FixAttempt | None:
    """Return the fixes of earlier missions for exactly this failure, or None.

    Args:
        context: The mission with its lessons; `test_results` belong to the workspace's tree.
        workspace: Workspace with that tree; it is only read.
        fixers: All fixers.
    """
    allowed = _allowed_rungs(context, fixers)
    found: dict[str, Candidate] = {}
    for lesson in _same_failure(context):
        candidate = await _as_candidate(lesson, workspace, allowed)
        if candidate is not None:
            found.setdefault(candidate.id, candidate)
    chosen = tuple(found.values())[:MOST]
    if not chosen:
        return None
    return FixAttempt(candidates=chosen, candidates_tried=len(chosen), recalled=True)


async def recall_first_rung(context: MissionContext, recall: Recall) -> Rung | None:
    """Return the rung that alone repaired such errors in this repository, if it costs more.

    Args:
        context: The mission, with its red run.
        recall: The lessons of this repository.
    """
    failures = context.test_results.failures if context.test_results else ()
    error = next((one.error for one in failures if one.error), None)
    if error is None:
        return None
    try:
        lessons = await recall.accepted(repository_id=context.request.memory_key, error=error)
    except MetaAgentError:
        return None
    return find_first_rung(lessons)


def move_patch(file: FilePatch, text: str) -> str | None:
    """Apply the patch of one file where its lines are now; return None if they are gone.

    Unlike `git apply` it ignores a hunk's surroundings if the changed lines are unique, and their
    indentation.

    Args:
        file: A patch of an existing file.
        text: The file's current text.
    """
    lines = text.split("\n")
    for hunk in file.hunks:
        moved = _replaced(lines, hunk)
        if moved is None:
            return None
        lines = moved
    return "\n".join(lines)


def _allowed_rungs(context: MissionContext, fixers: Iterable[Fixer]) -> frozenset[int]:
    """Return the rungs whose changes may be tried here."""
    # A person's choice is the only candidate of its mission.
    if context.request.answer is not None:
        return frozenset()
    allowed = frozenset(context.policy.rungs) & frozenset(context.request.rungs)
    # Without a fixer that runs candidates, this backend must not run any.
    runs = any(fixer.rung is not Rung.TOOLS for fixer in fixers)
    return allowed if runs else allowed & {int(Rung.TOOLS)}


def _same_failure(context: MissionContext) -> Iterator[Lesson]:
    report = context.test_results
    if report is None:
        return
    wanted = fingerprint(report)
    for lesson in (recalled.lesson for recalled in context.lessons):
        # The answer to a question is a fix that a person chose.
        is_fix = lesson.outcome == Outcome.FIXED or lesson.fate == "answered"
        is_accepted = is_fix and lesson.fate not in REFUSED
        if lesson.fingerprint == wanted and is_accepted:
            yield lesson


async def patched_files(diff: str, workspace: Workspace) -> tuple[FileChange, ...] | None:
    """Return the files of the present tree with a diff applied, or None if it does not fit.

    Args:
        diff: A unified diff against an earlier tree.
        workspace: Workspace with the present tree; it is only read.
    """
    try:
        changes = [await _moved(file, workspace) for file in parse_patch(diff.encode())]
    except ChangeRejected:
        return None
    fitting = tuple(change for change in changes if change is not None)
    return fitting if len(fitting) == len(changes) else None


async def _as_candidate(
    lesson: Lesson, workspace: Workspace, allowed: frozenset[int]
) -> Candidate | None:
    fix = lesson.fix
    if fix is None or lesson.rung not in allowed:
        return None
    fitting = await patched_files(fix.diff, workspace)
    if fitting is None:
        return None
    known = hashlib.sha256("".join(one.model_dump_json() for one in fitting).encode()).hexdigest()
    return Candidate(
        id=f"{FIXER}-{known[:12]}",
        rung=Rung(lesson.rung),
        fixer=FIXER,
        template=lesson.template or "",
        title=fix.title,
        explanation=(
            f"It repaired the same failure in mission {lesson.mission_id}, "
            f"after {counted(fix.candidates, 'candidate')}."
        ),
        changes=fitting,
        candidates_tried=1,
        plausible=fix.plausible,
        behaviours=fix.behaviours,
        warnings=fix.warnings,
        score=fix.score,
        # It was offered without a question before, or a person chose it.
        confident=True,
        recalled_from=lesson.id,
    )


async def _moved(file: FilePatch, workspace: Workspace) -> FileChange | None:
    """Return the change of one file on the present tree, or None if it does not fit."""
    text = await workspace.read_file(file.path)
    if file.creates:
        content = "".join(file.hunks[0].new)
        return (
            FileChange(action=ChangeAction.CREATE, path=file.path, content=content)
            if text is None
            else None
        )
    moved = None if text is None else move_patch(file, text)
    if moved is None or moved == text:
        return None
    return FileChange(action=ChangeAction.REPLACE, path=file.path, content=moved)


def _replaced(lines: Sequence[str], hunk: PatchHunk) -> list[str] | None:
    """Return the lines with the hunk applied, or None if its place is missing or not unique."""
    for form in _with_less_context(hunk):
        for is_same in (_is_equal, _is_indented):
            size = len(form.old)
            places = [
                at
                for at in range(len(lines) - size + 1)
                if is_same(lines[at : at + size], form.old)
            ]
            if len(places) > 1 and len(form.old) == len(hunk.old):
                # Like `patch`: of several places with all context, the nearest one.
                places = [min(places, key=lambda at: abs(at + 1 - form.start))]
            if len(places) == 1:
                at = places[0]
                new = _indented(form, lines[at : at + size])
                return [*lines[:at], *new, *lines[at + size :]]
            if places:
                return None
    return None


def _with_less_context(hunk: PatchHunk) -> Iterator[PatchHunk]:
    """Yield the hunk with all its context lines, then with fewer and fewer, down to none."""
    old = tuple(line.removesuffix("\n") for line in hunk.old)
    new = tuple(line.removesuffix("\n") for line in hunk.new)
    lead = _count_equal(old, new)
    trail = _count_equal(old[lead:][::-1], new[lead:][::-1])
    for kept in range(max(lead, trail), -1, -1):
        first, last = lead - min(lead, kept), trail - min(trail, kept)
        part = old[first : len(old) - last]
        if part:
            start = hunk.start + first
            yield PatchHunk(start=start, old=part, new=new[first : len(new) - last])


def _count_equal(old: Sequence[str], new: Sequence[str]) -> int:
    """Return the number of equal lines at the beginning."""
    pairs = zip(old, new, strict=False)
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))


def _is_equal(lines: Sequence[str], wanted: Sequence[str]) -> bool:
    return tuple(lines) == tuple(wanted)


def _is_indented(lines: Sequence[str], wanted: Sequence[str]) -> bool:
    """Return True if the lines differ in their indentation only."""
    return [line.strip() for line in lines] == [line.strip() for line in wanted]


def _indented(hunk: PatchHunk, there: Sequence[str]) -> tuple[str, ...]:
    """Return the new lines of a hunk, indented like the lines that they replace."""
    pairs = [(old, now) for old, now in zip(hunk.old, there, strict=True) if old.strip()]
    if not pairs:
        return hunk.new
    before, after = (line[: len(line) - len(line.lstrip())] for line in pairs[0])
    return tuple(
        after + line.removeprefix(before) if line.startswith(before) and line.strip() else line
        for line in hunk.new
    )
