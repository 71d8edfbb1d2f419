"""Convert an answer to changes of whole files: parse, place and validate. Nothing is executed."""

from collections.abc import Sequence

from bot.fixers.rung2_model.edits.apply import PlacedEdits, overlaps, place
from bot.fixers.rung2_model.edits.fences import from_fences
from bot.fixers.rung2_model.edits.formats import (
    apply_patch,
    is_apply_patch,
    is_unified_diff,
    unified_diff,
)
from bot.fixers.rung2_model.edits.gates import check_edits
from bot.fixers.rung2_model.edits.lines import Splice, Text
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
from bot.fixers.rung2_model.edits.parsed_file import ParsedFile
from bot.fixers.rung2_model.edits.values import (
    EditFormat,
    EditRules,
    EditsRead,
    Reason,
    Rejection,
    SentFile,
)
from sandbox.types import ChangeAction, FileChange

_DEFAULT = EditRules()
_MOST_REJECTIONS = 20
_MOST_HINTS = 5
"""Number of rejections for which similar lines are searched."""


def read_edits(
    text: str, sent: Sequence[SentFile], rules: EditRules = _DEFAULT, *, truncated: bool = False
) -> EditsRead:
    """Return an answer's changes. One rejected edit rejects the whole answer.

    Args:
        text: The model's answer; untrusted.
        sent: The files the model saw.
        rules: Limits of the answer.
        truncated: True if it was cut off at its length limit.
    """
    if len(text) > MAX_ANSWER:
        return _reject(
            None,
            Rejection(reason=Reason.TOO_LARGE, message=f"the answer is longer than {MAX_ANSWER}"),
        )
    lines = prepare(text)
    parsed = _parse(lines, sent, truncated=truncated)
    opened = [ParsedFile(file) for file in sent]
    if parsed is not None:
        form: EditFormat | None = parsed.format
        placed, rejections = _place(parsed, opened, rules)
    else:
        fences = code_fences(lines, {file.path for file in sent})
        if len(fences) > MAX_BLOCKS:
            return _reject(None, *too_many(None).rejections)
        fenced = from_fences(fences, opened, rules, truncated=truncated)
        form, placed, rejections = fenced.format, list(fenced.placed), list(fenced.rejections)
        if form is None and not rejections:
            message = (
                "no edit was found: give SEARCH/REPLACE blocks, "
                "or the whole corrected function in a fence"
            )
            rejections.append(Rejection(reason=Reason.NO_EDIT, message=message))
    rejections += overlaps(placed)
    return _reject(form, *rejections) if rejections else _judge(form, placed, sent, rules)


def describe_rejections(rejections: Sequence[Rejection]) -> str:
    """Describe rejections for the model, with similar lines of the files.

    The result contains repository text and is untrusted.

    Args:
        rejections: Rejections of one answer.
    """
    parts = []
    for each in rejections:
        where = ": ".join(
            [*([f"edit {each.block}"] if each.block else []), *([each.path] if each.path else [])]
        )
        parts.append(f"- {where}: {each.message}." if where else f"- {each.message}.")
        for window in each.windows:
            numbered = "\n".join(
                f"{number:>6} | {line}"
                for number, line in enumerate(window.text.split("\n"), start=window.first)
            )
            parts.append(f"  {window.path}, lines {window.first} to {window.last}:\n{numbered}")
    return "\n".join(parts)


def _parse(lines: list[str], sent: Sequence[SentFile], *, truncated: bool) -> Parsed | None:
    """Parse an answer in blocks or diffs; return None for other formats."""
    known = {file.path for file in sent}
    if is_search_replace(lines):
        return search_replace(lines, known)
    if is_apply_patch(lines):
        return apply_patch(lines, truncated=truncated)
    if is_unified_diff(lines, known):
        return unified_diff(lines, known, truncated=truncated)
    return None


def _place(
    parsed: Parsed, sent: Sequence[ParsedFile], rules: EditRules
) -> tuple[list[PlacedEdits], list[Rejection]]:
    """Place the blocks; repeated blocks, and those that change nothing, are dropped."""
    blocks = {
        (each.path, each.search, each.replace, each.anchor): each
        # Reversed, so that the first of identical blocks keeps its number.
        for each in reversed(parsed.blocks)
        if each.search != each.replace or each.creates
    }
    if len(blocks) > MAX_BLOCKS:
        return [], list(too_many(parsed.format).rejections)
    placed, rejections = list[PlacedEdits](), list(parsed.rejections)
    for block in sorted(blocks.values(), key=lambda block: block.number):
        found = place(block, sent, rules, hints=len(rejections) < _MOST_HINTS)
        if isinstance(found, Rejection):
            rejections.append(found)
        else:
            placed.append(found)
    return placed, rejections


def _judge(
    form: EditFormat | None,
    placed: Sequence[PlacedEdits],
    sent: Sequence[SentFile],
    rules: EditRules,
) -> EditsRead:
    texts = {file.path: file.text for file in reversed(sent)}
    splices: dict[str, set[Splice]] = {}
    contents = {each.path: each.created for each in placed if each.created is not None}
    for each in placed:
        if each.created is None:
            splices.setdefault(each.path, set()).update(each.splices)
    contents |= {path: Text(texts[path]).spliced(tuple(found)) for path, found in splices.items()}
    # An edit that results in the same text is no change.
    contents = {path: new for path, new in contents.items() if new != texts.get(path)}
    gated = check_edits({path: texts.get(path) for path in contents}, contents, rules)
    if gated.rejections:
        return _reject(form, *gated.rejections)
    changes = tuple(
        FileChange(
            action=ChangeAction.REPLACE if path in texts else ChangeAction.CREATE,
            path=path,
            content=new,
        )
        for path, new in contents.items()
    )
    return EditsRead(
        changes=changes,
        format=form,
        key=gated.key,
        changed_lines=gated.changed_lines,
        flags=gated.flags,
    )


def _reject(form: EditFormat | None, *rejections: Rejection) -> EditsRead:
    return EditsRead(format=form, rejections=tuple(dict.fromkeys(rejections))[:_MOST_REJECTIONS])
