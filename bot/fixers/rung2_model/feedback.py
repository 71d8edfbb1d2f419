"""Feedback for the model: rejections of its answer, or failures with its change."""

from collections.abc import Sequence

from bot.domain.model import Passage
from bot.domain.patch import Candidate
from bot.fixers.rung2_model.budget import PromptPart, PromptSpace
from bot.fixers.rung2_model.edits import Rejection, describe_rejections
from bot.fixers.rung2_model.tried_changes import TriedChange
from bot.fixers.trials import Proposed, Tried
from sandbox.diffs import Original, write_diff
from sandbox.types import ChangeAction, FileChange, FileEdit

_NAMES = 20
_REASON = 300
_WARNINGS = 4
_DOUBT = 300


def rejected(rejections: tuple[Rejection, ...], tokens: int) -> tuple[Passage, ...]:
    """Return the rejections of an answer.

    Args:
        rejections: Rejections of the answer.
        tokens: Size limit of the whole prompt.
    """
    text = PromptSpace.of(PromptPart.FEEDBACK, tokens).cut(describe_rejections(rejections))
    return (Passage(label="why your answer was not applied", text=text, origin="the applier"),)


def failed(tried: Tried, originals: dict[str, str], tokens: int) -> tuple[Passage, ...]:
    """Return the failures with the best change so far; the next answer does not build on it.

    Args:
        tried: The best change.
        originals: Text of each file before, by path.
        tokens: Size limit of the whole prompt.
    """
    room = PromptSpace.of(PromptPart.FEEDBACK, tokens)
    diff = diff_proposed(tried.proposed, originals)
    outcome = "\n".join(
        f"{label}: {', '.join(names[:_NAMES])}"
        for label, names in (
            ("passes with it", tried.mended),
            ("still fails", tried.still_failing),
            ("passed before, fails with it", tried.broke),
        )
        if names
    )
    return (
        Passage(
            label="your earlier change, reverted: edits apply to the source shown above",
            text=room.cut(diff, parts=2),
            origin="your answer",
        ),
        Passage(
            label="test results with it",
            text=room.cut(f"{outcome}\n{tried.output}"),
            origin="a trial",
        ),
    )


def summarize(
    works: Sequence[TriedChange], originals: dict[str, str], tokens: int
) -> tuple[Passage, ...]:
    """Return earlier changes of this climb and what became of them, in short.

    Args:
        works: Changes with their trials.
        originals: Text of each file before, by path.
        tokens: Size limit of the whole prompt.
    """
    room = PromptSpace.of(PromptPart.FEEDBACK, tokens)
    return tuple(
        Passage(
            label="an earlier answer, reverted, and what became of it",
            text=room.cut(
                f"{describe_outcome(work)}\n{diff_proposed(work.proposed, originals)}",
                parts=len(works) - number,
            ),
            origin="a trial",
        )
        for number, work in enumerate(works)
    )


def describe_outcome(work: TriedChange) -> str:
    """Describe the trial of a change: its result, and why a person would have to review it."""
    outcome = _describe_result(work)
    if not work.flags:
        return outcome
    reasons = "; ".join(flag.message or flag.rule for flag in work.flags)
    return f"{outcome}\nA person would have to review it: {reasons}"


def _describe_result(work: TriedChange) -> str:
    tried = work.tried
    if tried.passes and work.is_sure:
        return "passes"
    if tried.passes:
        doubts = describe_doubts(tried.candidate) if tried.candidate is not None else "not ranked"
        return f"passes, but is not certain: {doubts}"
    if work.untold:
        return f"could not be tried: {tried.output[:_REASON]}"
    still = ", ".join(tried.still_failing[:_NAMES]) or "none"
    broke = ", ".join(tried.broke[:_NAMES]) or "none"
    return (
        f"still failing: {still}; newly failing: {broke}; first message: {tried.output[:_REASON]}"
    )


def describe_doubts(candidate: Candidate) -> str:
    """Return why a passing candidate is doubted, in words.

    Args:
        candidate: A candidate that is not confident.
    """
    rival = next((one for one in candidate.rivals if one.distinguishing_input), None)
    rival = rival or next(iter(candidate.rivals), None)
    doubts = [warning[:_DOUBT] for warning in candidate.warnings[:_WARNINGS]]
    if rival is not None:
        words = f"the tests do not distinguish it from `{rival.description}` in {rival.path}"
        if rival.distinguishing_input:
            words += f"; they differ on {rival.distinguishing_input}"
        if any(rival.results):
            words += f", with the results {rival.results[0]} and {rival.results[1]}"
        doubts.append(words[: 2 * _DOUBT])
    found = doubts or ["the tests say too little about it"]
    return f"{candidate.title}\nDoubts: {'; '.join(found)}"


def diff_proposed(proposed: Proposed, originals: dict[str, str]) -> str:
    """Return a change as a unified diff.

    Args:
        proposed: Has the new files.
        originals: Text of each file before, by path.
    """
    return diff_changes(proposed.changes, originals)


def diff_changes(changes: Sequence[FileChange], originals: dict[str, str]) -> str:
    """Return changes of whole files as a unified diff.

    Args:
        changes: The new files.
        originals: Text of each file before, by path.
    """
    edits = [_as_edit(change) for change in changes]
    before = {path: Original(content=text.encode()) for path, text in originals.items()}
    return write_diff(edits, before)


def _as_edit(change: FileChange) -> FileEdit:
    """Return the file that results from a change."""
    if change.action is ChangeAction.DELETE:
        return FileEdit(path=change.path, mode="deleted")
    return FileEdit(path=change.path, mode="100644", content=(change.content or "").encode())
