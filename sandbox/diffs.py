"""Unified diffs: written for edits so that `git apply` accepts them, read for the lines that a commit changed."""

import base64
import hashlib
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from difflib import SequenceMatcher

from pydantic import ValidationError

from sandbox.types import FileEdit, Frozen, RedHunk

_CONTEXT = 3
_LARGE = 400_000
"""Lines times lines: above this the middle of a file is one hunk instead of a search for the smallest diff, which takes
minutes where a hostile file repeats the same two lines."""
_HUNK = re.compile(rb"@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")

_MOST_HUNKS = 80
_MOST_OLD_BYTES = 64 << 10
"""Of the text that all hunks together bring back."""

Change = tuple[int, int, int, int]
"""Lines from..to of the old file become lines from..to of the new one."""


class Original(Frozen):
    """A file before it was edited."""

    content: bytes
    mode: str = "100644"


def write_diff(edits: Iterable[FileEdit], originals: dict[str, Original]) -> str:
    """All edits as one diff; what is not UTF-8 text goes in as a binary patch.

    Args:
        edits: The files as they are now.
        originals: The files as they were; a path without one is new.
    """
    return "".join(_file_diff(edit, originals.get(edit.path)) for edit in sorted(edits, key=lambda edit: edit.path))


def _file_diff(edit: FileEdit, original: Original | None) -> str:
    old = original.content if original is not None else b""
    deleted = edit.mode == "deleted"
    if original is None and deleted:
        return ""
    if original is not None and not deleted and (old, original.mode) == (edit.content, edit.mode):
        return ""
    new = b"" if deleted else edit.content
    header = f"diff --git {_quoted('a/' + edit.path)} {_quoted('b/' + edit.path)}\n"
    if original is None:
        header += f"new file mode {edit.mode}\n"
    elif deleted:
        header += f"deleted file mode {original.mode}\n"
    elif original.mode != edit.mode:
        header += f"old mode {original.mode}\nnew mode {edit.mode}\n"
    if old == new and original is not None and not deleted:
        return header
    before = _blob(old) if original is not None else "0" * 40
    after = _blob(new) if not deleted else "0" * 40
    unchanged_mode = f" {edit.mode}" if original is not None and not deleted and original.mode == edit.mode else ""
    header += f"index {before}..{after}{unchanged_mode}\n"
    if old == new:  # an empty file comes or goes: there is nothing to show
        return header
    if not (_is_text(old) and _is_text(new)):
        return f"{header}GIT binary patch\n{_literal(new)}\n{_literal(old)}\n"
    names = (
        "/dev/null" if original is None else _named("a/", edit.path),
        "/dev/null" if deleted else _named("b/", edit.path),
    )
    return f"{header}--- {names[0]}\n+++ {names[1]}\n" + "".join(_hunks(_lines(old), _lines(new)))


def _hunks(old: list[str], new: list[str]) -> Iterator[str]:
    for group in _groups(line_changes(old, new)):
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
    """What differs; equal heads and tails are set aside first, so that a small edit of a large file is cheap.

    Args:
        old: The lines of the old file.
        new: Those of the new one.
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
    return [(head + a, head + b, head + c, head + d) for kind, a, b, c, d in codes if kind != "equal"]


def _groups(changes: list[Change]) -> list[list[Change]]:
    """Changes whose contexts touch stand in one hunk."""
    groups: list[list[Change]] = []
    for change in changes:
        if groups and change[0] - groups[-1][-1][1] <= 2 * _CONTEXT:
            groups[-1].append(change)
        else:
            groups.append([change])
    return groups


def _range(start: int, stop: int) -> str:
    """A hunk's range; an empty one names the line before it."""
    length = stop - start
    return f"{start + 1 if length else start},{length}"


def _line(sign: str, line: str) -> str:
    return f"{sign}{line}" if line.endswith("\n") else f"{sign}{line}\n\\ No newline at end of file\n"


def _lines(content: bytes) -> list[str]:
    """Lines with their newline; only LF ends a line, as in git."""
    return re.findall(r"[^\n]*\n|[^\n]+\Z", content.decode("utf-8"))


def _is_text(content: bytes) -> bool:
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return b"\0" not in content


def _blob(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def _literal(content: bytes) -> str:
    """Content in the form of git's binary patches: deflated, base 85, 52 bytes a line behind their number."""
    packed = zlib.compress(content)
    text = f"literal {len(content)}\n"
    for start in range(0, len(packed), 52):
        piece = packed[start : start + 52]
        length = chr(ord("A") + len(piece) - 1) if len(piece) <= 26 else chr(ord("a") + len(piece) - 27)  # noqa: PLR2004
        text += f"{length}{base64.b85encode(piece, pad=True).decode()}\n"
    return text


def _named(prefix: str, path: str) -> str:
    """A name after --- or +++; a blank in it needs a tab behind it."""
    quoted = _quoted(prefix + path)
    return f"{quoted}\t" if " " in path and not quoted.startswith('"') else quoted


def _quoted(path: str) -> str:
    """A path as git writes it: in quotes with octal escapes when it holds anything odd."""
    raw = path.encode("utf-8", "surrogateescape")
    if path.isprintable() and '"' not in path and "\\" not in path:
        return path
    plain = range(ord(" "), ord("~") + 1)
    return '"' + "".join(chr(b) if b in plain and b not in b'"\\' else f"\\{b:03o}" for b in raw) + '"'


def parse_changed_lines(raw: bytes) -> dict[str, tuple[int, ...]]:
    """Path to the new line numbers of a diff without context; files with quoted names are left out."""
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
    """What a diff without context took away or replaced in Python files that are still there.

    Text that is not UTF-8 is left out, and so is everything behind the limits of number and size.
    """
    found: list[RedHunk] = []
    size = 0
    for path, (line, count), old in _hunks_of(raw):
        if not path.endswith(".py"):
            continue
        size += len(old)
        if len(found) >= _MOST_HUNKS or size > _MOST_OLD_BYTES:
            break
        with suppress(UnicodeDecodeError, ValidationError):
            found.append(RedHunk(path=path, line=line, lines=count, before=old.decode()))
    return tuple(found)


def _hunks_of(raw: bytes) -> Iterator[tuple[str, tuple[int, int], bytes]]:
    """Path, first new line and number of new lines, and the old lines of each hunk."""
    path: str | None = None
    head: tuple[int, int] | None = None
    old: list[bytes] = []
    removed = added = 0
    is_old = False
    for row in raw.split(b"\n"):
        if row.startswith(b"\\"):  # no newline at the end of the file: the line before this one has none
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
                removed, start, added = (int(part) if part is not None else 1 for part in hunk.groups())
                # Where lines only went, git names the line before the gap.
                head = (start if added else start + 1, added)


def _plain_name(row: bytes) -> str | None:
    """The path on a `+++` line, unless it is quoted or there is none."""
    name = row[4:].rstrip(b"\t")
    try:
        return name[2:].decode() if name.startswith(b"b/") else None
    except UnicodeDecodeError:
        return None
