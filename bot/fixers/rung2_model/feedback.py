"""What became of an answer, as the model is told once: why nothing was applied, or what failed with the change."""

from bot.domain.model import Passage
from bot.fixers.rung2_model.budget import Part, Room
from bot.fixers.rung2_model.edits import Rejection, told
from bot.fixers.trials import Proposed, Tried
from sandbox.diffs import Original, write_diff
from sandbox.types import ChangeAction, FileChange, FileEdit

_NAMES = 20


def rejected(rejections: tuple[Rejection, ...], tokens: int) -> tuple[Passage, ...]:
    """Why nothing of an answer was applied.

    Args:
        rejections: Of the answer.
        tokens: What a whole prompt may hold.
    """
    text = Room.of(Part.FEEDBACK, tokens).cut(told(rejections))
    return (Passage(label="why nothing of your answer was applied", text=text, origin="the applier"),)


def failed(tried: Tried, originals: dict[str, str], tokens: int) -> tuple[Passage, ...]:
    """What still fails with the best change so far. The next answer does not build on that change.

    Args:
        tried: That change.
        originals: Path to the text of each file before.
        tokens: What a whole prompt may hold.
    """
    room = Room.of(Part.FEEDBACK, tokens)
    diff = diff_of(tried.proposed, originals)
    outcome = "\n".join(
        f"{label}: {', '.join(names[:_NAMES])}"
        for label, names in (
            ("passes with it", tried.mended),
            ("still fails", tried.still_failing),
            ("failed not before, fails with it", tried.broke),
        )
        if names
    )
    return (
        Passage(
            label="your earlier change, taken back: edits are matched with the source as it is shown above",
            text=room.cut(diff, parts=2),
            origin="your answer",
        ),
        Passage(label="what the tests say with it", text=room.cut(f"{outcome}\n{tried.output}"), origin="a trial"),
    )


def diff_of(proposed: Proposed, originals: dict[str, str]) -> str:
    """A change as a unified diff.

    Args:
        proposed: With whole files.
        originals: Path to the text of each file before.
    """
    edits = [_edit_of(change) for change in proposed.changes]
    before = {path: Original(content=text.encode()) for path, text in originals.items()}
    return write_diff(edits, before)


def _edit_of(change: FileChange) -> FileEdit:
    """A change of a whole file as the file it leaves."""
    if change.action is ChangeAction.DELETE:
        return FileEdit(path=change.path, mode="deleted")
    return FileEdit(path=change.path, mode="100644", content=(change.content or "").encode())
