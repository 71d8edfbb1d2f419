"""Edits of byte spans, and how the host applies them to a file that it read itself."""

from collections.abc import Sequence

from pydantic import Field

from sandbox.types.frozen import Frozen


class SpanEdit(Frozen):
    """Replace the bytes from `start` to `end` of a file (as UTF-8) by `text`."""

    path: str
    start: int = Field(ge=0)
    end: int = Field(ge=0)
    text: str


def apply_spans(original: str, edits: Sequence[SpanEdit]) -> str:
    """Return a file's text with edits applied; all other bytes stay unchanged.

    Args:
        original: The text to which the spans refer.
        edits: Edits of this one file.

    Raises:
        ValueError: Spans overlap, exceed the file, or split a character.
    """
    data, pieces, at = original.encode("utf-8"), list[bytes](), 0
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
        if not at <= edit.start <= edit.end <= len(data):
            raise ValueError(f"the span {edit.start} to {edit.end} does not fit the file")
        pieces += [data[at : edit.start], edit.text.encode("utf-8")]
        at = edit.end
    return b"".join([*pieces, data[at:]]).decode("utf-8")


def group_by_file(edits: Sequence[SpanEdit]) -> dict[str, tuple[SpanEdit, ...]]:
    """Group edits by file, in the order in which the files first appear."""
    files: dict[str, tuple[SpanEdit, ...]] = {}
    for edit in edits:
        files[edit.path] = (*files.get(edit.path, ()), edit)
    return files
