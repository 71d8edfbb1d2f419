"""Place edit blocks in the files as sent; each must match exactly one place."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from bot.fixers.rung2_model.edits.lines import Splice, Text, plain
from bot.fixers.rung2_model.edits.match import (
    EXACT,
    MOST_PLACES,
    PUNCTUATION,
    SHIFTED,
    TRAILING,
    Span,
    TextMatch,
    nearest,
    places,
    shifted,
    window,
)
from bot.fixers.rung2_model.edits.parse import Block
from bot.fixers.rung2_model.edits.parsed_file import ParsedFile
from bot.fixers.rung2_model.edits.symbols import is_named
from bot.fixers.rung2_model.edits.values import EditRules, Reason, Rejection
from sandbox.changes import is_safe_path
from sandbox.diffs import Change, line_changes
from sandbox.types import Frozen

_ELISION = re.compile(
    r"^(?:#|//|/\*|<!--)?[ \t]*(?:\.{3}|\u2026)[ \t]*"
    r"(?:\(?(?:the )?(?:rest|existing|remaining|remainder|unchanged|same|other|previous"
    r"|code|keep|omitted)\b|$)",
    re.IGNORECASE,
)
_COMMENTED = re.compile(
    r"^(?:#|//|/\*|<!--)[ \t]*(?:the )?(?:rest of|remaining|existing|unchanged|same) (?:the |as )?"
    r"(?:code|file|function|method|class|implementation|logic|body|above|before|original)\b",
    re.IGNORECASE,
)
_KEYWORDS = re.compile(r"^(?:(?:async[ \t]+)?def|class)[ \t]+")
_MOST_SHOWN = 5
_MOST_READ = 200
"""Maximum length of a line that may be an elision, in characters."""


class PlacedEdits(Frozen):
    """Edits of one file."""

    path: str
    splices: tuple[Splice, ...] = ()
    created: str | None = None
    """The text of a new file."""


def place(
    block: Block, sent: Sequence[ParsedFile], rules: EditRules, *, hints: bool
) -> PlacedEdits | Rejection:
    """Find the place of a block.

    Args:
        block: A block of the answer.
        sent: The files the model saw.
        rules: Limits of the answer.
        hints: True to look for similar text if there is no match.
    """
    file = find_file(block.path, sent, rules) if block.path else _only_home(block, sent)
    if isinstance(file, Rejection):
        return file.with_(block=block.number)
    if file is None:
        return _create(block, rules)
    if not file.editable:
        message = "this file is read-only"
        return Rejection(
            reason=Reason.PROTECTED, path=file.path, block=block.number, message=message
        )
    if _is_blank(block.search):
        if file.text.is_blank:
            whole = Splice(
                start=0, end=len(file.text.bodies), lines=block.replace, block=block.number
            )
            return PlacedEdits(path=file.path, splices=(whole,))
        reason = Reason.EXISTS if block.creates else Reason.EMPTY_SEARCH
        message = (
            "the file exists: quote the lines to be replaced, or the line next to the new ones"
        )
        return Rejection(reason=reason, path=file.path, block=block.number, message=message)
    return _place(block, file, hints=hints)


def find_file(path: str, sent: Sequence[ParsedFile], rules: EditRules) -> ParsedFile | None:
    """Return the sent file that a path or its end refers to; None if there is none."""
    path = path.removeprefix("./")
    exact = next((file for file in sent if file.path == path), None)
    # An unsent file must not match a sent one by its ending.
    if exact is not None or path in rules.files:
        return exact
    ending = [file for file in sent if file.path.endswith(f"/{path}")]
    return ending[0] if len(ending) == 1 else None


def _only_home(block: Block, sent: Sequence[ParsedFile]) -> ParsedFile | Rejection:
    """Find the file of a block without a path: the only editable or the only matching one."""
    files = [file for file in sent if file.editable]
    if len(files) > 1 and not _is_blank(block.search):
        files = [
            file
            for file in files
            if places(file.haystack, block.search, file.shown, (EXACT, TRAILING))
        ]
    if len(files) == 1:
        return files[0]
    return Rejection(reason=Reason.NO_PATH, message="no line above it names the file it is for")


def _create(block: Block, rules: EditRules) -> PlacedEdits | Rejection:
    def no(reason: Reason, message: str) -> Rejection:
        return Rejection(reason=reason, path=block.path, block=block.number, message=message)

    # On a case-insensitive file system, it would overwrite the other file.
    known = {path.casefold() for path in rules.files}
    if not _is_blank(block.search) or block.path.removeprefix("./").casefold() in known:
        return no(Reason.NOT_SENT, "only files that were sent may be edited")
    if not is_safe_path(block.path.removeprefix("./")):
        return no(Reason.NOT_SENT, "this file name is not allowed")
    if not rules.may_create:
        return no(Reason.NO_CREATION, "new files are not allowed; edit the files that were sent")
    content = "\n".join(block.replace).strip("\n")
    return PlacedEdits(
        path=block.path.removeprefix("./"), created=f"{content}\n" if content else ""
    )


def _place(block: Block, file: ParsedFile, *, hints: bool) -> PlacedEdits | Rejection:
    found = _find(block, file)
    if not found:
        block = _without_common_edges(block)
        found = _find(block, file)
    if not found:
        return _not_found(block, file, hints=hints)
    inside = _by_anchor(found, block, file)
    if inside:
        return _choose_place(block, file, inside)
    return _no(
        Reason.NOT_FOUND,
        f"its SEARCH text is not in `{block.anchor[:80]}`",
        block,
        file,
        found=found,
    )


def _find(block: Block, file: ParsedFile) -> list[TextMatch]:
    """Match at any level in the shown lines, else exactly in the whole file."""
    found = places(file.haystack, block.search, file.shown, (EXACT, TRAILING, SHIFTED, PUNCTUATION))
    whole = [(0, len(file.text.bodies))]
    return found or places(file.haystack, block.search, whole, (EXACT, TRAILING))


def _no(
    reason: Reason, message: str, block: Block, file: ParsedFile, *, found: Sequence[TextMatch] = ()
) -> Rejection:
    size = len(block.search)
    shown = tuple(
        window(file.path, file.text.bodies, each.start, size) for each in found[:_MOST_SHOWN]
    )
    return Rejection(
        reason=reason, path=file.path, block=block.number, message=message, windows=shown
    )


def _choose_place(
    block: Block, file: ParsedFile, found: Sequence[TextMatch]
) -> PlacedEdits | Rejection:
    text = file.text
    splices = _splices(block, found[0], text.bodies)
    if splices is None:
        message = (
            "its new lines cannot be reindented to match the old ones: indent as the file does"
        )
        return _no(Reason.INDENTATION, message, block, file, found=found)
    others = (_splices(block, each, text.bodies) for each in found[1:])
    # Several places are no problem if all edits give the same text.
    if len(found) == MOST_PLACES or any(
        other is None or text.spliced(other) != text.spliced(splices) for other in others
    ):
        many = "many" if len(found) == MOST_PLACES else str(len(found))
        message = f"its SEARCH text is in {many} places: quote more lines, or add `@@ Class.method`"
        return _no(Reason.AMBIGUOUS, message, block, file, found=found)
    lines = [line for splice in splices for line in splice.lines]
    if (elided := elision_in(lines, text)) is not None:
        return _no(Reason.ELIDED, elided, block, file, found=found)
    return PlacedEdits(path=file.path, splices=splices)


def _not_found(block: Block, file: ParsedFile, *, hints: bool) -> Rejection:
    if any(_is_elision(line) for line in block.search):
        return _no(
            Reason.ELIDED,
            "its SEARCH text leaves lines out: quote every line, in a smaller block",
            block,
            file,
        )
    rejection = _no(
        Reason.NOT_FOUND,
        "its SEARCH text is not in the file: quote the lines exactly, with their spaces",
        block,
        file,
    )
    windows = nearest(file.path, file.haystack, block.search, file.shown) if hints else ()
    return rejection.with_(windows=windows)


def _by_anchor(found: list[TextMatch], block: Block, file: ParsedFile) -> list[TextMatch]:
    """Filter places by the block's anchor.

    The result is empty if an explicit anchor names another place.
    """
    spans, is_named = _anchored(block.anchor, file)
    size = len(block.search)
    inside = [
        each
        for each in found
        if any(each.start < end and each.start + size > start for start, end in spans)
    ]
    if is_named and block.firm:
        return inside
    return inside if inside and len(found) > 1 else found


def _anchored(anchor: str, file: ParsedFile) -> tuple[list[Span], bool]:
    """Return the spans an anchor refers to, and True if it names a definition."""
    if not anchor:
        return [], False
    name = _KEYWORDS.sub("", anchor.strip()).split("(")[0].rstrip(": \t")
    named = [span for each, span in file.definitions if is_named(each, name)]
    if named:
        return named, True
    bodies = file.text.bodies
    standing = [index for index, body in enumerate(bodies) if body.strip() == anchor.strip()]
    return ([(standing[0], len(bodies))] if len(standing) == 1 else []), False


def _splices(block: Block, at: TextMatch, bodies: Sequence[str]) -> tuple[Splice, ...] | None:
    """Return the differences between SEARCH and REPLACE; common lines stay as the file has them."""
    made = []
    strip = str.rstrip if at.level > EXACT else str
    old, new = [strip(line) for line in block.search], [strip(line) for line in block.replace]
    for low, high, new_low, new_high in line_changes(old, new):
        lines = shifted(block.replace[new_low:new_high], at)
        if lines is None:
            return None
        start = at.start + low
        if at.level == PUNCTUATION:
            lines = _carried(bodies[start : start + high - low], lines)
        made.append(Splice(start=start, end=at.start + high, lines=lines, block=block.number))
    return tuple(made)


def _carried(old: Sequence[str], new: Sequence[str]) -> tuple[str, ...]:
    """Keep the file's own quotes, dashes and spaces where the model only copied them."""
    before, after = "\n".join(old), "\n".join(new)
    pieces, at = list[str](), 0
    changes: list[Change] = line_changes(plain(before), plain(after))
    for low, high, new_low, new_high in changes:
        pieces += [before[at:low], after[new_low:new_high]]
        at = high
    return tuple("".join([*pieces, before[at:]]).split("\n")) if new else ()


def elision_in(lines: Sequence[str], text: Text) -> str | None:
    """Return an error if new lines stand for omitted code, such as `# ... rest of the function`.

    Args:
        lines: The new lines.
        text: The file; a line it already contains is no elision.
    """
    known = {body.strip() for body in text.bodies}
    line = next(
        (line.strip() for line in lines if _is_elision(line) and line.strip() not in known), None
    )
    return None if line is None else f"`{line[:80]}` stands for omitted code: write every line"


def _is_elision(line: str) -> bool:
    text = line.strip()[:_MOST_READ]
    return bool(_ELISION.match(text) or _COMMENTED.match(text))


def _is_blank(lines: Sequence[str]) -> bool:
    return not any(line.strip() for line in lines)


def _without_common_edges(block: Block) -> Block:
    """Drop blank lines that both sides begin or end with; they are not part of the edit."""
    search, replace = list(block.search), list(block.replace)
    while search and replace and not search[0].strip() and not replace[0].strip():
        del search[0], replace[0]
    while search and replace and not search[-1].strip() and not replace[-1].strip():
        del search[-1], replace[-1]
    return block.with_(search=tuple(search), replace=tuple(replace))


def overlaps(placed: Sequence[PlacedEdits]) -> Iterator[Rejection]:
    """Yield edits of one file that overlap."""
    files: dict[str, list[Splice]] = {}
    for each in placed:
        if each.created is not None and each.path in files:
            yield _clash(each.path, 0)
        files.setdefault(each.path, []).extend(each.splices)
    for path, splices in files.items():
        ordered = sorted(set(splices), key=lambda each: (each.start, each.end))
        for one, other in pairwise(ordered):
            # Two insertions at one place have no defined order.
            same_gap = one.start == one.end == other.start == other.end
            if other.start < one.end or same_gap:
                yield _clash(path, other.block)


def _clash(path: str, block: int) -> Rejection:
    message = "it overlaps another edit: each edit applies to the file as it was sent"
    return Rejection(reason=Reason.OVERLAP, path=path, block=block, message=message)
