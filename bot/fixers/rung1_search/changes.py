"""Convert span edits to changes of files that the host has read itself."""

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import suppress

from bot.ports import Workspace
from sandbox.errors import ChangeRejected
from sandbox.types import ChangeAction, FileChange, SpanEdit, apply_spans, group_by_file


async def read_text(workspace: Workspace, path: str) -> str:
    """Return a file's text.

    Return an empty string if the file is missing or may not be read, such as a large lock file.
    """
    with suppress(ChangeRejected):
        return await workspace.read_file(path) or ""
    return ""


def edited_files(
    edits: Sequence[SpanEdit], originals: Mapping[str, str]
) -> tuple[FileChange, ...] | None:
    """Return the edited files, or None if an edit does not fit its file.

    Args:
        edits: Reported by the sandbox, so possibly invalid.
        originals: Text of each edited file before, by path.
    """
    changes = []
    for path, of_file in group_by_file(edits).items():
        original = originals.get(path)
        if not original:
            return None
        try:
            content = apply_spans(original, of_file)
        except ValueError:
            return None
        changes.append(FileChange(action=ChangeAction.REPLACE, path=path, content=content))
    return tuple(changes)


def hash_edits(edits: Sequence[SpanEdit]) -> str:
    """Return an id derived from a candidate's edits."""
    text = "\n".join(edit.model_dump_json() for edit in edits)
    return f"search-{hashlib.sha256(text.encode()).hexdigest()[:12]}"
