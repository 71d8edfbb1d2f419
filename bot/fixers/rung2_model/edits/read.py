"""The text of an answer into changes of whole files: parse, place, check, or say why not. Nothing is ever run."""

from collections.abc import Sequence

from bot.fixers.rung2_model.edits.apply import Placed, overlaps, place
from bot.fixers.rung2_model.edits.fences import from_fences
from bot.fixers.rung2_model.edits.formats import apply_patch, is_apply_patch, is_unified_diff, unified_diff
from bot.fixers.rung2_model.edits.gates import passed
from bot.fixers.rung2_model.edits.lines import Splice, Text
from bot.fixers.rung2_model.edits.opened import Opened
from bot.fixers.rung2_model.edits.parse import (
    MAX_ANSWER,
    MAX_BLOCKS,
    Parsed,
    code_fences,
    is_search_replace,
    prepare,
    search_replace,
    too_many,
)
from bot.fixers.rung2_model.edits.values import EditFormat, EditRules, EditsRead, Reason, Rejection, SentFile
from sandbox.types import ChangeAction, FileChange

_DEFAULT = EditRules()
_MOST_REJECTIONS = 20
_MOST_HINTS = 5
"""Rejections for which it is worth looking what was meant."""


def read_edits(
    text: str, sent: Sequence[SentFile], rules: EditRules = _DEFAULT, *, truncated: bool = False
) -> EditsRead:
    """What an answer changes; atomically: one edit that cannot be taken, and none is.

    Args:
        text: Of a model; hostile.
        sent: The files it saw.
        rules: What it may do.
        truncated: It was cut off at its length limit.
    """
    if len(text) > MAX_ANSWER:
        return _rejected(None, Rejection(reason=Reason.TOO_LARGE, message=f"the answer is longer than {MAX_ANSWER}"))
    lines = prepare(text)
    parsed = _parsed(lines, sent, truncated=truncated)
    opened = [Opened(file) for file in sent]
    if parsed is not None:
        form: EditFormat | None = parsed.format
        placed, rejections = _placed(parsed, opened, rules)
    else:
        fences = code_fences(lines, {file.path for file in sent})
        if len(fences) > MAX_BLOCKS:
            return _rejected(None, *too_many(None).rejections)
        fenced = from_fences(fences, opened, rules, truncated=truncated)
        form, placed, rejections = fenced.format, list(fenced.placed), list(fenced.rejections)
        if form is None and not rejections:
            message = "no edit was found: give SEARCH/REPLACE blocks, or the whole corrected function in a fence"
            rejections.append(Rejection(reason=Reason.NO_EDIT, message=message))
    rejections += overlaps(placed)
    return _rejected(form, *rejections) if rejections else _judged(form, placed, sent, rules)


def told(rejections: Sequence[Rejection]) -> str:
    """Rejections as a model is told of them: a sentence each, with the lines it may have meant. Hostile text.

    Args:
        rejections: Of one answer.
    """
    parts = []
    for each in rejections:
        where = ": ".join([*([f"edit {each.block}"] if each.block else []), *([each.path] if each.path else [])])
        parts.append(f"- {where}: {each.message}." if where else f"- {each.message}.")
        for window in each.windows:
            numbered = "\n".join(
                f"{number:>6} | {line}" for number, line in enumerate(window.text.split("\n"), start=window.first)
            )
            parts.append(f"  {window.path}, lines {window.first} to {window.last}:\n{numbered}")
    return "\n".join(parts)


def _parsed(lines: list[str], sent: Sequence[SentFile], *, truncated: bool) -> Parsed | None:
    """The blocks of an answer that speaks in blocks or diffs."""
    known = {file.path for file in sent}
    if is_search_replace(lines):
        return search_replace(lines, known)
    if is_apply_patch(lines):
        return apply_patch(lines, truncated=truncated)
    if is_unified_diff(lines, known):
        return unified_diff(lines, known, truncated=truncated)
    return None


def _placed(parsed: Parsed, sent: Sequence[Opened], rules: EditRules) -> tuple[list[Placed], list[Rejection]]:
    """Blocks with their places; those that change nothing, and repeated ones, are none."""
    blocks = {
        (each.path, each.search, each.replace, each.anchor): each
        for each in reversed(parsed.blocks)
        if each.search != each.replace or each.creates
    }
    if len(blocks) > MAX_BLOCKS:
        return [], list(too_many(parsed.format).rejections)
    placed, rejections = list[Placed](), list(parsed.rejections)
    for block in sorted(blocks.values(), key=lambda block: block.number):
        found = place(block, sent, rules, hints=len(rejections) < _MOST_HINTS)
        if isinstance(found, Rejection):
            rejections.append(found)
        else:
            placed.append(found)
    return placed, rejections


def _judged(form: EditFormat | None, placed: Sequence[Placed], sent: Sequence[SentFile], rules: EditRules) -> EditsRead:
    texts = {file.path: file.text for file in reversed(sent)}
    splices: dict[str, set[Splice]] = {}
    contents = {each.path: each.created for each in placed if each.created is not None}
    for each in placed:
        if each.created is None:
            splices.setdefault(each.path, set()).update(each.splices)
    contents |= {path: Text(texts[path]).spliced(tuple(found)) for path, found in splices.items()}
    contents = {path: new for path, new in contents.items() if new != texts.get(path)}
    gated = passed({path: texts.get(path) for path in contents}, contents, rules)
    if gated.rejections:
        return _rejected(form, *gated.rejections)
    changes = tuple(
        FileChange(action=ChangeAction.REPLACE if path in texts else ChangeAction.CREATE, path=path, content=new)
        for path, new in contents.items()
    )
    return EditsRead(changes=changes, format=form, key=gated.key, changed_lines=gated.changed_lines, flags=gated.flags)


def _rejected(form: EditFormat | None, *rejections: Rejection) -> EditsRead:
    return EditsRead(format=form, rejections=tuple(dict.fromkeys(rejections))[:_MOST_REJECTIONS])
