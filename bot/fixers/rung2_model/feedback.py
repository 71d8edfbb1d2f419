"""Feedback for the model: rejections of its answer, or failures with its change."""

from bot.domain.model import Passage
from bot.fixers.rung2_model.budget import PromptPart, PromptSpace
from bot.fixers.rung2_model.edits import Rejection, describe_rejections
from bot.fixers.trials import Proposed, Tried
from sandbox.diffs import Original, write_diff
from sandbox.types import ChangeAction, FileChange, FileEdit

_NAMES = 20


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


def diff_proposed(proposed: Proposed, originals: dict[str, str]) -> str:
    """Return a change as a unified diff.

    Args:
        proposed: Has the new files.
        originals: Text of each file before, by path.
    """
    edits = [_as_edit(change) for change in proposed.changes]
    before = {path: Original(content=text.encode()) for path, text in originals.items()}
    return write_diff(edits, before)


def _as_edit(change: FileChange) -> FileEdit:
    """Return the file that results from a change."""
    if change.action is ChangeAction.DELETE:
        return FileEdit(path=change.path, mode="deleted")
    return FileEdit(path=change.path, mode="100644", content=(change.content or "").encode())
