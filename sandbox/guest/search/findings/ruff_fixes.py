"""Fixes that ruff offers for its findings, and for those of flake8 with the same code.

`ruff check --fix` makes fixes that ruff calls safe. Unsafe ones may change what a program does, so
that the check and the tests have to agree. Those that ruff only displays need a person.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections import Counter
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Tuple

from sandbox.guest.search.findings.model import FixDraft, SourceFinding
from sandbox.guest.search.source.render import TextEdit, splice

CODE = re.compile(r"[A-Z]{1,6}\d{2,4}")
MAX_ANSWER = 16 << 20
COSTS = {"safe": 0.05, "unsafe": 0.25, "display": 0.8, "displayonly": 0.8}
"""By how far ruff trusts a fix. Other words of other versions are not known, and not used."""
COMMENT_COST = 0.9
FOLLOWING_COST = 0.05
_COMMENT = re.compile(rb"#[^\n]*")


class LinterOffer(NamedTuple):
    """A fix of a linter."""

    draft: FixDraft
    doubt: str
    """The reason why a person has to confirm it, as in `EditDoubt`, or empty."""


class Ruff(NamedTuple):
    """The ruff of an environment, and the folder whose configuration it reads."""

    program: str
    folder: str

    def offer(self, source: bytes, finding: SourceFinding) -> Iterator[LinterOffer]:
        """Yield the fixes of a finding; none if ruff is missing or answers in another form.

        Args:
            source: The file.
            finding: Its place and code.
        """
        if not CODE.fullmatch(finding.code):
            return
        rows = _find_rows(self._ask(source, finding.path, finding.code), finding)
        lines = _split_lines(source)
        for row in rows:
            offer = _read_fix(row.get("fix"), source, lines)
            if offer is None:
                continue
            yield offer
            whole = self._with_following(source, finding, offer)
            if whole is not None:
                yield whole

    def _with_following(
        self, source: bytes, finding: SourceFinding, offer: LinterOffer
    ) -> Optional[LinterOffer]:
        """Return a fix together with safe fixes of the findings that it causes.

        It may leave an import unused, or code that another rule of the same family finds.
        """
        rules = f"F401,{finding.code.rstrip('0123456789')}"
        try:
            fixed = splice(source, offer.draft.edits)
        except ValueError:  # edits overlap
            return None
        before = Counter(map(_key, self._ask(source, finding.path, rules)))
        after = self._ask(fixed, finding.path, rules)
        caused = [row for row in after if not _take(before, _key(row))]
        lines = _split_lines(fixed)
        fixes = [_read_fix(row.get("fix"), fixed, lines) for row in caused]
        edits = {
            edit
            for fix in fixes
            if fix is not None and fix.draft.cost == COSTS["safe"]
            for edit in fix.draft.edits
        }
        if not edits:
            return None
        try:
            whole = splice(fixed, tuple(edits))
        except ValueError:
            return None
        cost = offer.draft.cost + FOLLOWING_COST
        return LinterOffer(FixDraft(cost, _difference(source, whole)), offer.doubt)

    def _ask(self, source: bytes, path: str, rules: str) -> List[Any]:
        """Return ruff's reports about some rules; ruff reads the text from us, and no file."""
        command = [
            self.program, "check", "--select", rules, "--output-format", "json",
            "--no-cache", "--no-fix", "--no-fix-only", "--exit-zero",
            "--stdin-filename", path, "-",
        ]  # fmt: skip
        try:
            with subprocess.Popen(
                command,
                cwd=self.folder,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            ) as process:
                assert process.stdin is not None
                assert process.stdout is not None
                process.stdin.write(source)
                process.stdin.close()
                answer = process.stdout.read(MAX_ANSWER)
                process.kill()
        except OSError:
            return []
        return _read_rows(answer)


def find_ruff(python: str, folder: str) -> Optional[Ruff]:
    """Return the ruff beside an interpreter, or None."""
    program = os.path.join(os.path.dirname(python), "ruff")
    return Ruff(program, folder) if os.path.exists(program) else None


def _read_rows(answer: bytes) -> List[Any]:
    """Return the reports of an answer; none if it has another form."""
    try:
        rows = json.loads(answer.decode("utf-8"))
    except (ValueError, RecursionError):
        return []
    found = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    return [row for row in found if isinstance(row.get("location"), dict)]


def _find_rows(rows: List[Any], finding: SourceFinding) -> List[Any]:
    """Return the reports that are about a finding."""
    found = [
        row
        for row in rows
        if row.get("code") == finding.code and row["location"].get("row") == finding.line
    ]
    # Other tools may count columns from 0, or name another part of the statement.
    exact = [row for row in found if row["location"].get("column") == finding.column]
    return exact or found


def _key(row: Any) -> str:
    """Return what stays the same about a report when code before it moves."""
    return f"{row.get('code')} {row.get('message')}"


def _take(counts: Dict[str, int], key: str) -> bool:
    """Return True if a key was left, and count it."""
    counts[key] -= 1
    return counts[key] >= 0


def _difference(old: bytes, new: bytes) -> Tuple[TextEdit, ...]:
    """Return one edit from the first place that differs to the last one."""
    before, after = old.decode("utf-8"), new.decode("utf-8")
    head = _count_equal(before, after)
    tail = _count_equal(before[head:][::-1], after[head:][::-1])
    start = len(before[:head].encode("utf-8"))
    end = len(before[: len(before) - tail].encode("utf-8"))
    return (TextEdit(start, end, after[head : len(after) - tail]),)


def _count_equal(one: str, other: str) -> int:
    """Return the length of the common start of two texts."""
    count = 0
    while count < min(len(one), len(other)) and one[count] == other[count]:
        count += 1
    return count


def _read_fix(fix: Any, source: bytes, lines: List[bytes]) -> Optional[LinterOffer]:
    """Return a fix in byte offsets; None if it has another form."""
    if not isinstance(fix, dict) or not isinstance(fix.get("edits"), list):
        return None
    trust = fix.get("applicability")
    edits = [_read_edit(edit, lines) for edit in fix["edits"]]
    known = tuple(edit for edit in edits if edit is not None)
    if not isinstance(trust, str) or trust not in COSTS or len(known) < len(edits):
        return None
    if _is_comment(source, known):
        return LinterOffer(FixDraft(COMMENT_COST, known), "comment")
    return LinterOffer(
        FixDraft(COSTS[trust], known), "unsure" if trust.startswith("display") else ""
    )


def _read_edit(edit: Any, lines: List[bytes]) -> Optional[TextEdit]:
    if not isinstance(edit, dict) or not isinstance(edit.get("content"), str):
        return None
    start = _find_offset(edit.get("location"), lines)
    end = _find_offset(edit.get("end_location"), lines)
    if start is None or end is None or start > end:
        return None
    return TextEdit(start, end, edit["content"])


def _find_offset(place: Any, lines: List[bytes]) -> Optional[int]:
    """Return the offset of a place whose row and column start at 1, in characters."""
    row, column = (place.get("row"), place.get("column")) if isinstance(place, dict) else (0, 0)
    if not isinstance(row, int) or not isinstance(column, int):
        return None
    if not (1 <= row <= len(lines) + 1 and column >= 1):
        return None
    before = sum(len(line) for line in lines[: row - 1])
    text = lines[row - 1].decode("utf-8") if row <= len(lines) else ""
    if row == 1 and text.startswith("\ufeff"):  # a byte order mark, which ruff does not count
        before, text = before + 3, text[1:]
    if column - 1 > len(text):
        return None
    return before + len(text[: column - 1].encode("utf-8"))


def _split_lines(source: bytes) -> List[bytes]:
    """Return the lines with their ends, as ruff counts them."""
    return re.findall(rb"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+", source)


def _is_comment(source: bytes, edits: Tuple[TextEdit, ...]) -> bool:
    """Return True if edits only add, change or remove comments."""
    parts = [part for e in edits for part in (source[e.start : e.end], e.text.encode("utf-8"))]
    is_plain = all(not _COMMENT.sub(b"", part).strip() for part in parts)
    return is_plain and any(part.strip() for part in parts)
