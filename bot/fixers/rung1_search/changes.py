"""Edits of spans made into changes of files that the host has read itself."""

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import suppress

from bot.ports import Workspace
from sandbox.errors import ChangeRejected
from sandbox.types import ChangeAction, FileChange, SpanEdit, by_file, spliced


async def text_of(workspace: Workspace, path: str) -> str:
    """A file's text, or nothing where there is none or it may not be read (a lock file may be too large)."""
    with suppress(ChangeRejected):
        return await workspace.read_file(path) or ""
    return ""


def changes_of(edits: Sequence[SpanEdit], originals: Mapping[str, str]) -> tuple[FileChange, ...] | None:
    """The edited files, or None when an edit does not fit the file it is about.

    Args:
        edits: From the sandbox, so possibly nonsense.
        originals: Path to the text of each edited file before.
    """
    changes = []
    for path, of_file in by_file(edits).items():
        original = originals.get(path)
        if not original:
            return None
        try:
            content = spliced(original, of_file)
        except ValueError:
            return None
        changes.append(FileChange(action=ChangeAction.REPLACE, path=path, content=content))
    return tuple(changes)


def identity_of(edits: Sequence[SpanEdit]) -> str:
    """Names a candidate by what it changes."""
    text = "\n".join(edit.model_dump_json() for edit in edits)
    return f"search-{hashlib.sha256(text.encode()).hexdigest()[:12]}"
