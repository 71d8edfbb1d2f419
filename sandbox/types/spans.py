"""Edits of spans: what the search proposes, and how a host puts it into a file it has read itself."""

from collections.abc import Sequence

from pydantic import Field

from sandbox.types.frozen import Frozen


class SpanEdit(Frozen):
    """Replace the bytes from `start` to `end` of a file (as UTF-8) by `text`."""

    path: str
    start: int = Field(ge=0)
    end: int = Field(ge=0)
    text: str


def spliced(original: str, edits: Sequence[SpanEdit]) -> str:
    """A file's text with edits put in; every byte outside them stays as it was.

    Args:
        original: The text the spans count in.
        edits: All of this one file.

    Raises:
        ValueError: spans overlap, leave the file, or cut a character.
    """
    data, pieces, at = original.encode("utf-8"), list[bytes](), 0
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
        if not at <= edit.start <= edit.end <= len(data):
            raise ValueError(f"the span {edit.start} to {edit.end} does not fit the file")
        pieces += [data[at : edit.start], edit.text.encode("utf-8")]
        at = edit.end
    return b"".join([*pieces, data[at:]]).decode("utf-8")


def by_file(edits: Sequence[SpanEdit]) -> dict[str, tuple[SpanEdit, ...]]:
    """Edits by the file they belong to, in the order the files are named first."""
    files: dict[str, tuple[SpanEdit, ...]] = {}
    for edit in edits:
        files[edit.path] = (*files.get(edit.path, ()), edit)
    return files
