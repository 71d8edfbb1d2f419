"""Reads what `git diff` says about the files that differ between two commits."""

import re
from dataclasses import dataclass

HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")


@dataclass(frozen=True, slots=True)
class Change:
    """One file of a comparison."""

    status: str
    path: str
    old_path: str | None
    sha: str
    additions: int
    deletions: int
    patch: str | None


def read_changes(raw: str, numbers: list[str], patches: str) -> list[Change]:
    """Changes from `--raw -z`, `--numstat` and the patches, which git gives in the same order."""
    bodies = ("\n" + patches).split("\ndiff --git ")[1:]
    return [
        _change(record, number, body)
        for record, number, body in zip(_raw_records(raw), numbers, bodies, strict=True)
    ]


def _raw_records(raw: str) -> list[tuple[str, list[str]]]:
    """Split `git diff --raw -z` into (meta, paths)."""
    fields = [field for field in raw.split("\0") if field]
    records = []
    while fields:
        meta = fields.pop(0)
        count = 2 if meta.split()[4][0] in "RC" else 1
        records.append((meta, [fields.pop(0) for _ in range(count)]))
    return records


def _change(record: tuple[str, list[str]], numbers: str, body: str) -> Change:
    """One file from its raw record, its numstat line and its patch."""
    meta, paths = record
    _, _, old_sha, new_sha, letter = meta.split()
    added, removed = numbers.split("\t")[:2]
    hunks = body.find("\n@@")
    names = {
        "A": "added",
        "D": "removed",
        "M": "modified",
        "R": "renamed",
        "C": "copied",
        "T": "changed",
    }
    return Change(
        status=names[letter[0]],
        path=paths[-1],
        old_path=paths[0] if len(paths) > 1 else None,
        sha=old_sha if letter[0] == "D" else new_sha,
        additions=int(added) if added.isdigit() else 0,
        deletions=int(removed) if removed.isdigit() else 0,
        patch=body[hunks + 1 :].rstrip("\n") if hunks >= 0 else None,
    )


def find_line(patch: str, line: int, side: str) -> tuple[int, str] | None:
    """Where a line of one side stands in a patch: its position and the hunk up to it; nothing outside the hunks."""
    old = new = 0
    hunk: list[str] = []
    for position, text in enumerate(patch.split("\n")):
        head = HUNK.match(text)
        if head:
            old, new, hunk = int(head[1]), int(head[2]), [text]
            continue
        hunk.append(text)
        left, right = text[:1] in {" ", "-"}, text[:1] in {" ", "+"}
        if (side == "RIGHT" and right and new == line) or (side == "LEFT" and left and old == line):
            return position, "\n".join(hunk)
        old, new = old + left, new + right
    return None
