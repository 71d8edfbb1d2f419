"""Blocks onto sent files: each finds its one place in the file as it was sent, or says why not."""

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
    Place,
    Span,
    nearest,
    places,
    shifted,
    window,
)
from bot.fixers.rung2_model.edits.opened import Opened
from bot.fixers.rung2_model.edits.parse import Block
from bot.fixers.rung2_model.edits.values import EditRules, Reason, Rejection
from sandbox.changes import is_safe_path
from sandbox.diffs import Change, line_changes
from sandbox.types import Frozen

_ELISION = re.compile(
    r"^(?:#|//|/\*|<!--)?[ \t]*(?:\.{3}|\u2026)[ \t]*"
    r"(?:\(?(?:the )?(?:rest|existing|remaining|remainder|unchanged|same|other|previous|code|keep|omitted)\b|$)",
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
"""Characters of a line that may stand for others."""


class Placed(Frozen):
    """What becomes of one file."""

    path: str
    splices: tuple[Splice, ...] = ()
    created: str | None = None
    """The text of a new file."""


def place(block: Block, sent: Sequence[Opened], rules: EditRules, *, hints: bool) -> Placed | Rejection:
    """Where a block goes.

    Args:
        block: Of an answer.
        sent: The files the model saw.
        rules: What it may do.
        hints: Look for what a text that is not there may have meant.
    """
    file = file_of(block.path, sent, rules) if block.path else _only_home(block, sent)
    if isinstance(file, Rejection):
        return file.with_(block=block.number)
    if file is None:
        return _created(block, rules)
    if not file.editable:
        message = "it was shown to be read only"
        return Rejection(reason=Reason.PROTECTED, path=file.path, block=block.number, message=message)
    if _is_blank(block.search):
        if file.text.is_blank:
            whole = Splice(start=0, end=len(file.text.bodies), lines=block.replace, block=block.number)
            return Placed(path=file.path, splices=(whole,))
        reason = Reason.EXISTS if block.creates else Reason.EMPTY_SEARCH
        message = "the file is there: quote the lines to be replaced, or the line next to which new ones belong"
        return Rejection(reason=reason, path=file.path, block=block.number, message=message)
    return _placed(block, file, hints=hints)


def file_of(path: str, sent: Sequence[Opened], rules: EditRules) -> Opened | None:
    """The sent file an answer means, spelled as a path or as its end; None when none does."""
    path = path.removeprefix("./")
    exact = next((file for file in sent if file.path == path), None)
    if exact is not None or path in rules.files:
        return exact
    ending = [file for file in sent if file.path.endswith(f"/{path}")]
    return ending[0] if len(ending) == 1 else None


def _only_home(block: Block, sent: Sequence[Opened]) -> Opened | Rejection:
    """The file of a block that names none: the only one there is, or the only one with its text."""
    files = [file for file in sent if file.editable]
    if len(files) > 1 and not _is_blank(block.search):
        files = [file for file in files if places(file.haystack, block.search, file.shown, (EXACT, TRAILING))]
    if len(files) == 1:
        return files[0]
    return Rejection(reason=Reason.NO_PATH, message="no line above it names the file it is for")


def _created(block: Block, rules: EditRules) -> Placed | Rejection:
    def no(reason: Reason, message: str) -> Rejection:
        return Rejection(reason=reason, path=block.path, block=block.number, message=message)

    known = {path.casefold() for path in rules.files}
    if not _is_blank(block.search) or block.path.removeprefix("./").casefold() in known:
        return no(Reason.NOT_SENT, "only files that were sent may be edited")
    if not is_safe_path(block.path.removeprefix("./")):
        return no(Reason.NOT_SENT, "no file may have this name")
    if not rules.may_create:
        return no(Reason.NO_CREATION, "no new files may be made here; edit the files that were sent")
    content = "\n".join(block.replace).strip("\n")
    return Placed(path=block.path.removeprefix("./"), created=f"{content}\n" if content else "")


def _placed(block: Block, file: Opened, *, hints: bool) -> Placed | Rejection:
    found = _found(block, file)
    if not found:
        block = _without_common_edges(block)
        found = _found(block, file)
    if not found:
        return _not_found(block, file, hints=hints)
    inside = _by_anchor(found, block, file)
    if inside:
        return _decided(block, file, inside)
    return _no(Reason.NOT_FOUND, f"its SEARCH text does not stand in `{block.anchor[:80]}`", block, file, found=found)


def _found(block: Block, file: Opened) -> list[Place]:
    """At any level in what was shown, else word for word in all of the file."""
    found = places(file.haystack, block.search, file.shown, (EXACT, TRAILING, SHIFTED, PUNCTUATION))
    whole = [(0, len(file.text.bodies))]
    return found or places(file.haystack, block.search, whole, (EXACT, TRAILING))


def _no(reason: Reason, message: str, block: Block, file: Opened, *, found: Sequence[Place] = ()) -> Rejection:
    size = len(block.search)
    shown = tuple(window(file.path, file.text.bodies, each.start, size) for each in found[:_MOST_SHOWN])
    return Rejection(reason=reason, path=file.path, block=block.number, message=message, windows=shown)


def _decided(block: Block, file: Opened, found: Sequence[Place]) -> Placed | Rejection:
    text = file.text
    splices = _splices(block, found[0], text.bodies)
    if splices is None:
        message = "its new lines cannot be moved to where the old ones stand: indent as the file does"
        return _no(Reason.INDENTATION, message, block, file, found=found)
    others = (_splices(block, each, text.bodies) for each in found[1:])
    if len(found) == MOST_PLACES or any(
        other is None or text.spliced(other) != text.spliced(splices) for other in others
    ):
        many = "many" if len(found) == MOST_PLACES else str(len(found))
        message = f"its SEARCH text stands in {many} places: quote more lines, or say `@@ Class.method`"
        return _no(Reason.AMBIGUOUS, message, block, file, found=found)
    lines = [line for splice in splices for line in splice.lines]
    if (elided := elision_in(lines, text)) is not None:
        return _no(Reason.ELIDED, elided, block, file, found=found)
    return Placed(path=file.path, splices=splices)


def _not_found(block: Block, file: Opened, *, hints: bool) -> Rejection:
    if any(_is_elision(line) for line in block.search):
        return _no(Reason.ELIDED, "its SEARCH text leaves lines out: quote every line, in a smaller block", block, file)
    rejection = _no(
        Reason.NOT_FOUND, "its SEARCH text is not in the file: quote the lines exactly, with their spaces", block, file
    )
    windows = nearest(file.path, file.haystack, block.search, file.shown) if hints else ()
    return rejection.with_(windows=windows)


def _by_anchor(found: list[Place], block: Block, file: Opened) -> list[Place]:
    """The places an anchor leaves: none, where it was set on purpose and names something else."""
    spans, is_named = _anchored(block.anchor, file)
    size = len(block.search)
    inside = [each for each in found if any(each.start < end and each.start + size > start for start, end in spans)]
    if is_named and block.firm:
        return inside
    return inside if inside and len(found) > 1 else found


def _anchored(anchor: str, file: Opened) -> tuple[list[Span], bool]:
    """The lines an anchor speaks of, and whether it is the name of something there."""
    if not anchor:
        return [], False
    name = _KEYWORDS.sub("", anchor.strip()).split("(")[0].rstrip(": \t")
    named = [(each.first, each.end) for each in file.symbols if each.is_named(name)]
    if named:
        return named, True
    bodies = file.text.bodies
    standing = [index for index, body in enumerate(bodies) if body.strip() == anchor.strip()]
    return ([(standing[0], len(bodies))] if len(standing) == 1 else []), False


def _splices(block: Block, at: Place, bodies: Sequence[str]) -> tuple[Splice, ...] | None:
    """What changes between SEARCH and REPLACE; lines they share stay as the file has them."""
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
    """New lines with the file's own quotes, dashes and spaces wherever the model only copied them."""
    before, after = "\n".join(old), "\n".join(new)
    pieces, at = list[str](), 0
    changes: list[Change] = line_changes(plain(before), plain(after))
    for low, high, new_low, new_high in changes:
        pieces += [before[at:low], after[new_low:new_high]]
        at = high
    return tuple("".join([*pieces, before[at:]]).split("\n")) if new else ()


def elision_in(lines: Sequence[str], text: Text) -> str | None:
    """What is wrong with new lines that stand for code that was left out: `# ... rest of the function`.

    Args:
        lines: That are to be put in.
        text: The file; what stands there already is no elision.
    """
    known = {body.strip() for body in text.bodies}
    line = next((line.strip() for line in lines if _is_elision(line) and line.strip() not in known), None)
    return None if line is None else f"`{line[:80]}` stands for code that is left out: write every line"


def _is_elision(line: str) -> bool:
    text = line.strip()[:_MOST_READ]
    return bool(_ELISION.match(text) or _COMMENTED.match(text))


def _is_blank(lines: Sequence[str]) -> bool:
    return not any(line.strip() for line in lines)


def _without_common_edges(block: Block) -> Block:
    """Blank lines both sides begin or end with are no part of the edit."""
    search, replace = list(block.search), list(block.replace)
    while search and replace and not search[0].strip() and not replace[0].strip():
        del search[0], replace[0]
    while search and replace and not search[-1].strip() and not replace[-1].strip():
        del search[-1], replace[-1]
    return block.with_(search=tuple(search), replace=tuple(replace))


def overlaps(placed: Sequence[Placed]) -> Iterator[Rejection]:
    """Edits of one file that get in each other's way."""
    files: dict[str, list[Splice]] = {}
    for each in placed:
        if each.created is not None and each.path in files:
            yield _clash(each.path, 0)
        files.setdefault(each.path, []).extend(each.splices)
    for path, splices in files.items():
        ordered = sorted(set(splices), key=lambda each: (each.start, each.end))
        for one, other in pairwise(ordered):
            same_gap = one.start == one.end == other.start == other.end
            if other.start < one.end or same_gap:
                yield _clash(path, other.block)


def _clash(path: str, block: int) -> Rejection:
    message = "it changes lines that another edit changes, too: each is compared with the file as it was sent"
    return Rejection(reason=Reason.OVERLAP, path=path, block=block, message=message)
