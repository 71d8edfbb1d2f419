"""Convert a fence to a complete short file."""

import re
from collections import Counter

from bot.fixers.rung2_model.edits.apply import PlacedEdits
from bot.fixers.rung2_model.edits.lines import Splice
from bot.fixers.rung2_model.edits.parsed_file import ParsedFile
from bot.fixers.rung2_model.edits.snippet import PYTHON, FenceRejected, Snippet
from bot.fixers.rung2_model.edits.values import EditRules, Reason
from sandbox.changes import is_safe_path
from sandbox.changes.syntax import is_python
from sandbox.diffs import line_changes

_DEFINED = re.compile(
    r"^[ \t]*(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)|^(\w+)[ \t]*(?::[^=\n]{1,100})?=(?!=)",
    re.MULTILINE,
)
_FEW = 10
"""Files up to this many lines may be replaced completely if they are named."""


def whole_file(snippet: Snippet, rules: EditRules) -> PlacedEdits | None:
    """Return the fence as a complete file; None if it is not meant as one.

    Args:
        snippet: The fence.
        rules: Limits of the answer.

    Raises:
        FenceRejected: It is meant as a file but was rejected.
    """
    if not snippet.path and not snippet.definitions:
        if snippet.is_broken and snippet.fence.language in PYTHON - {""}:
            raise FenceRejected(Reason.MALFORMED, "the code cannot be parsed as Python")
        return None
    if snippet.path and snippet.labelled is None:
        return _create(snippet, rules)
    if len(snippet.files) != 1:
        names = ", ".join(f"`{node.name}`" for node in snippet.definitions[:5])
        raise FenceRejected(
            Reason.NO_PATH,
            f"{names}: no line above the code names a file, and not all definitions exist",
        )
    return _replace(snippet, snippet.files[0], rules)


def _create(snippet: Snippet, rules: EditRules) -> PlacedEdits | None:
    path = snippet.path
    if not snippet.is_for(path):
        return None
    known = {each.casefold() for each in rules.files}
    if not rules.may_create or not is_safe_path(path) or path.casefold() in known:
        raise FenceRejected(Reason.NOT_SENT, "only files that were sent may be edited", path)
    return PlacedEdits(path=path, created="\n".join([*snippet.fence.lines, ""]))


def _replace(snippet: Snippet, file: ParsedFile, rules: EditRules) -> PlacedEdits | None:
    if not snippet.is_for(file.path):
        return None
    text, lines = file.text, list(snippet.fence.lines)
    while lines and not lines[-1].strip():
        lines.pop()
    if not lines:
        return None
    snippet.check(file)
    if len(text.bodies) > rules.whole_file_lines:
        message = (
            f"files of more than {rules.whole_file_lines} lines are not accepted whole: "
            "send only the changed functions"
        )
        raise FenceRejected(Reason.TOO_LONG, message, file.path)
    if missing := _missing(file, lines, named=snippet.labelled is not None):
        raise FenceRejected(
            Reason.INCOMPLETE, f"the code is not the complete file: {missing}", file.path
        )
    splices = (
        Splice(start=a, end=b, lines=tuple(lines[c:d]))
        for a, b, c, d in line_changes(text.bodies, lines)
    )
    return PlacedEdits(path=file.path, splices=tuple(splices))


def _missing(file: ParsedFile, lines: list[str], *, named: bool) -> str:
    """Return evidence that the lines are only a part of a file; empty if there is none."""
    bodies = file.text.bodies
    if file.shown != ((0, len(bodies)),):
        return "not all of it was shown"
    if is_python(file.path):
        gone = Counter(_DEFINED.findall("\n".join(bodies))) - Counter(
            _DEFINED.findall("\n".join(lines))
        )
        if gone:
            return ", ".join(f"`{''.join(each)}`" for each in list(gone)[:5]) + " missing"
    old, new = (Counter(line.strip() for line in each if line.strip()) for each in (bodies, lines))
    # Less than half of the old lines: probably an excerpt.
    is_other = (old & new).total() * 2 < old.total()
    return (
        "most of its lines are missing" if is_other and not (named and len(bodies) <= _FEW) else ""
    )
