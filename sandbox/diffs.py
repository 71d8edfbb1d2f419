"""Unified diffs: written for edits so that `git apply` accepts them, parsed for changed lines."""

import base64
import hashlib
import re
import string
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from difflib import SequenceMatcher

from pydantic import ValidationError

from sandbox.languages import is_read_source, is_source
from sandbox.types import FileEdit, Frozen, RedHunk

_CONTEXT = 3
_LENGTHS = string.ascii_uppercase + string.ascii_lowercase
"""Letters for the line lengths 1 to 52 of a git binary patch."""
_LARGE = 400_000
"""Limit for the product of the line counts.

Above it the middle of a file becomes one hunk. A search for the smallest diff takes minutes if a
hostile file repeats the same two lines.
"""
_HUNK = re.compile(rb"@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")

_MOST_HUNKS = 80
_MOST_OLD_BYTES = 64 << 10
"""Limit for the old text of all hunks together."""

Change = tuple[int, int, int, int]
"""Old lines from..to become new lines from..to."""


class Original(Frozen):
    """A file before it was edited."""

    content: bytes
    mode: str = "100644"


def write_diff(edits: Iterable[FileEdit], originals: dict[str, Original]) -> str:
    """Return all edits as one diff. Content that is not UTF-8 text becomes a binary patch.

    Args:
        edits: The current files.
        originals: The original files by path; a path without one is new.
    """
    return "".join(
        _file_diff(edit, originals.get(edit.path))
        for edit in sorted(edits, key=lambda edit: edit.path)
    )


def _file_diff(edit: FileEdit, original: Original | None) -> str:
    old = original.content if original is not None else b""
    deleted = edit.mode == "deleted"
    if original is None and deleted:
        return ""
    if original is not None and not deleted and (old, original.mode) == (edit.content, edit.mode):
        return ""
    new = b"" if deleted else edit.content
    header = f"diff --git {_quote_path('a/' + edit.path)} {_quote_path('b/' + edit.path)}\n"
    if original is None:
        header += f"new file mode {edit.mode}\n"
    elif deleted:
        header += f"deleted file mode {original.mode}\n"
    elif original.mode != edit.mode:
        header += f"old mode {original.mode}\nnew mode {edit.mode}\n"
    if old == new and original is not None and not deleted:
        return header
    before = _blob_hash(old) if original is not None else "0" * 40
    after = _blob_hash(new) if not deleted else "0" * 40
    unchanged_mode = (
        f" {edit.mode}"
        if original is not None and not deleted and original.mode == edit.mode
        else ""
    )
    header += f"index {before}..{after}{unchanged_mode}\n"
    if old == new:  # an empty file is created or deleted: there is no content to show
        return header
    if not (_is_text(old) and _is_text(new)):
        return f"{header}GIT binary patch\n{_literal(new)}\n{_literal(old)}\n"
    names = (
        "/dev/null" if original is None else _header_path("a/", edit.path),
        "/dev/null" if deleted else _header_path("b/", edit.path),
    )
    return f"{header}--- {names[0]}\n+++ {names[1]}\n" + "".join(_hunks(_lines(old), _lines(new)))


def _hunks(old: list[str], new: list[str]) -> Iterator[str]:
    for group in _group_changes(line_changes(old, new)):
        first, last = group[0], group[-1]
        start, begin = max(first[0] - _CONTEXT, 0), max(first[2] - _CONTEXT, 0)
        stop, end = min(last[1] + _CONTEXT, len(old)), min(last[3] + _CONTEXT, len(new))
        yield f"@@ -{_range(start, stop)} +{_range(begin, end)} @@\n"
        position = start
        for low, high, new_low, new_high in group:
            yield from (_line(" ", line) for line in old[position:low])
            yield from (_line("-", line) for line in old[low:high])
            yield from (_line("+", line) for line in new[new_low:new_high])
            position = high
        yield from (_line(" ", line) for line in old[position:stop])


def line_changes(old: Sequence[str], new: Sequence[str]) -> list[Change]:
    """Return the changed line ranges.

    Common prefixes and suffixes are removed first, so that a small edit of a large file is cheap.

    Args:
        old: Lines of the old file.
        new: Lines of the new file.
    """
    shorter = min(len(old), len(new))
    head = next((i for i in range(shorter) if old[i] != new[i]), shorter)
    tail = next((i for i in range(shorter - head) if old[-1 - i] != new[-1 - i]), shorter - head)
    before, after = old[head : len(old) - tail], new[head : len(new) - tail]
    if not before and not after:
        return []
    if len(before) * len(after) > _LARGE:
        return [(head, head + len(before), head, head + len(after))]
    codes = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    return [
        (head + a, head + b, head + c, head + d) for kind, a, b, c, d in codes if kind != "equal"
    ]


def _group_changes(changes: list[Change]) -> list[list[Change]]:
    """Group changes whose context lines overlap or touch into one hunk."""
    groups: list[list[Change]] = []
    for change in changes:
        if groups and change[0] - groups[-1][-1][1] <= 2 * _CONTEXT:
            groups[-1].append(change)
        else:
            groups.append([change])
    return groups


def _range(start: int, stop: int) -> str:
    """Return the range of a hunk; an empty range names the line before it."""
    length = stop - start
    return f"{start + 1 if length else start},{length}"


def _line(sign: str, line: str) -> str:
    return (
        f"{sign}{line}" if line.endswith("\n") else f"{sign}{line}\n\\ No newline at end of file\n"
    )


def _lines(content: bytes) -> list[str]:
    """Split into lines with their newline. Only LF ends a line, as in git."""
    return re.findall(r"[^\n]*\n|[^\n]+\Z", content.decode("utf-8"))


def _is_text(content: bytes) -> bool:
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return b"\0" not in content


def _blob_hash(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def _literal(content: bytes) -> str:
    """Encode content for a git binary patch: deflated, base 85, 52 bytes a line after a length."""
    packed = zlib.compress(content)
    text = f"literal {len(content)}\n"
    for start in range(0, len(packed), 52):
        piece = packed[start : start + 52]
        text += _LENGTHS[len(piece) - 1]
        text += f"{base64.b85encode(piece, pad=True).decode()}\n"
    return text


def _header_path(prefix: str, path: str) -> str:
    """Return a path for a --- or +++ line; a path with a space needs a tab after it."""
    quoted = _quote_path(prefix + path)
    return f"{quoted}\t" if " " in path and not quoted.startswith('"') else quoted


def _quote_path(path: str) -> str:
    """Quote a path as git does: unusual paths in quotes with octal escapes."""
    raw = path.encode("utf-8", "surrogateescape")
    if path.isprintable() and '"' not in path and "\\" not in path:
        return path
    plain = range(ord(" "), ord("~") + 1)
    return (
        '"' + "".join(chr(b) if b in plain and b not in b'"\\' else f"\\{b:03o}" for b in raw) + '"'
    )


def parse_changed_lines(raw: bytes) -> dict[str, tuple[int, ...]]:
    """Return the new line numbers of a diff without context, by path. Quoted paths are skipped."""
    lines: dict[str, list[int]] = {}
    path: str | None = None
    skip = 0
    for line in raw.split(b"\n"):
        if skip and not line.startswith(b"\\"):  # inside a hunk a line may look like a header
            skip -= 1
        elif line.startswith(b"+++ "):
            name = line[4:].rstrip(b"\t")
            path = name[2:].decode("utf-8", "surrogateescape") if name.startswith(b"b/") else None
        elif hunk := _HUNK.match(line):
            removed, start, added = (int(part) if part is not None else 1 for part in hunk.groups())
            skip = removed + added
            if path is not None and added:
                lines.setdefault(path, []).extend(range(start, start + added))
    return {name: tuple(numbers) for name, numbers in lines.items()}


def parse_hunks(raw: bytes) -> tuple[RedHunk, ...]:
    """Return the lines removed by a diff without context, for source files that still exist.

    Text that is not UTF-8 is skipped. Hunks beyond the limits of number and size are dropped.
    """
    found: list[RedHunk] = []
    size = 0
    # The search's languages first: only their hunks can be undone by it.
    hunks = sorted(_split_hunks(raw), key=lambda hunk: not is_source(hunk[0]))
    for path, (line, count), old in hunks:
        if not is_read_source(path):
            continue
        size += len(old)
        if len(found) >= _MOST_HUNKS or size > _MOST_OLD_BYTES:
            break
        with suppress(UnicodeDecodeError, ValidationError):
            found.append(RedHunk(path=path, line=line, lines=count, before=old.decode()))
    return tuple(found)


def _split_hunks(raw: bytes) -> Iterator[tuple[str, tuple[int, int], bytes]]:
    """Yield path, first new line, number of new lines, and old lines of each hunk."""
    path: str | None = None
    head: tuple[int, int] | None = None
    old: list[bytes] = []
    removed = added = 0
    is_old = False
    for row in raw.split(b"\n"):
        if row.startswith(
            b"\\"
        ):  # no newline at the end of the file: this concerns the previous line
            if is_old:
                old[-1] = old[-1].removesuffix(b"\n")
        elif removed:
            removed, is_old = removed - 1, True
            old.append(row[1:] + b"\n")
        elif added:
            added, is_old = added - 1, False
        else:
            if path is not None and head is not None:
                yield path, head, b"".join(old)
            head, old = None, []
            if row.startswith(b"+++ "):
                path = _plain_name(row)
            elif hunk := _HUNK.match(row):
                removed, start, added = (
                    int(part) if part is not None else 1 for part in hunk.groups()
                )
                # For a pure deletion, git names the line before the gap.
                head = (start if added else start + 1, added)


def _plain_name(row: bytes) -> str | None:
    """Return the path on a `+++` line, or None if it is quoted or absent."""
    name = row[4:].rstrip(b"\t")
    try:
        return name[2:].decode() if name.startswith(b"b/") else None
    except UnicodeDecodeError:
        return None
