"""Blocks onto sent files: each finds its one place in the file as it was sent, or says why not."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from bot.fixers.rung2_model.edits.lines import Change, Splice, Text, differences, plain
from bot.fixers.rung2_model.edits.match import (
    EXACT,
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
from bot.fixers.rung2_model.edits.parse import Block
from bot.fixers.rung2_model.edits.symbols import symbols, tree_of
from bot.fixers.rung2_model.edits.values import EditRules, Reason, Rejection, SentFile
from sandbox.changes import is_safe_path
from sandbox.types import Frozen

_ELISION = re.compile(
    r"^[ \t]*(?:#|//|/\*|<!--)?[ \t]*(?:\.{3}|\u2026)[ \t]*"
    r"(?:\(?(?:the )?(?:rest|existing|remaining|remainder|unchanged|same|other|previous|code|keep|omitted)\b|$)",
    re.IGNORECASE,
)
_COMMENTED = re.compile(
    r"^[ \t]*(?:#|//|/\*|<!--)[ \t]*(?:the )?(?:rest of|remaining|existing|unchanged|same) (?:the |as )?"
    r"(?:code|file|function|method|class|implementation|logic|body|above|before|original)\b",
    re.IGNORECASE,
)
_KEYWORDS = re.compile(r"^(?:(?:async[ \t]+)?def|class)[ \t]+")
_MOST_PLACES = 5


class Placed(Frozen):
    """What becomes of one file."""

    path: str
    splices: tuple[Splice, ...] = ()
    created: str | None = None
    """The text of a new file."""


def place(block: Block, sent: Sequence[SentFile], rules: EditRules) -> Placed | Rejection:
    """Where a block goes.

    Args:
        block: Of an answer.
        sent: The files the model saw.
        rules: What it may do.
    """
    file = file_of(block.path, sent, rules) if block.path else _only_home(block, sent)
    if isinstance(file, Rejection):
        return file.with_(block=block.number)
    if file is None:
        return _created(block, rules)
    if not file.editable:
        message = "it was shown to be read only"
        return Rejection(reason=Reason.PROTECTED, path=file.path, block=block.number, message=message)
    text = Text(file.text)
    if _is_blank(block.search):
        if text.is_blank:
            whole = Splice(start=0, end=len(text.bodies), lines=block.replace, block=block.number)
            return Placed(path=file.path, splices=(whole,))
        reason = Reason.EXISTS if block.creates else Reason.EMPTY_SEARCH
        message = "the file is there: quote the lines to be replaced, or the line next to which new ones belong"
        return Rejection(reason=reason, path=file.path, block=block.number, message=message)
    return _placed(block, file, text)


def file_of(path: str, sent: Sequence[SentFile], rules: EditRules) -> SentFile | None:
    """The sent file an answer means, spelled as a path or as its end; None when none does."""
    path = path.removeprefix("./")
    exact = next((file for file in sent if file.path == path), None)
    if exact is not None or path in rules.files:
        return exact
    ending = [file for file in sent if file.path.endswith(f"/{path}")]
    return ending[0] if len(ending) == 1 else None


def _only_home(block: Block, sent: Sequence[SentFile]) -> SentFile | Rejection:
    """The file of a block that names none: the only one there is, or the only one with its text."""
    files = [file for file in sent if file.editable]
    if len(files) > 1 and not _is_blank(block.search):
        files = [
            file
            for file in files
            if places(bodies := Text(file.text).bodies, block.search, _spans(file, len(bodies)), (EXACT, TRAILING))
        ]
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


def _placed(block: Block, file: SentFile, text: Text) -> Placed | Rejection:
    spans = _spans(file, len(text.bodies))
    found = _found(block, text, spans)
    if not found:
        block = _without_common_edges(block)
        found = _found(block, text, spans)
    if not found:
        return _not_found(block, file, text, spans)
    inside = _by_anchor(found, block, file, len(text.bodies))
    if not inside:
        return _outside(block, file, text, found)
    return _decided(block, file, text, inside)


def _found(block: Block, text: Text, spans: Sequence[Span]) -> list[Place]:
    """At any level in what was shown, else word for word in all of the file."""
    whole = [(0, len(text.bodies))]
    found = places(text.bodies, block.search, spans, (EXACT, TRAILING, SHIFTED, PUNCTUATION))
    return found or places(text.bodies, block.search, whole, (EXACT, TRAILING))


def _decided(block: Block, file: SentFile, text: Text, found: Sequence[Place]) -> Placed | Rejection:
    def no(reason: Reason, message: str) -> Rejection:
        shown = tuple(window(file.path, text.bodies, each.start, len(block.search)) for each in found[:_MOST_PLACES])
        return Rejection(reason=reason, path=file.path, block=block.number, message=message, windows=shown)

    made = [_splices(block, each, text.bodies) for each in found]
    splices = made[0]
    if splices is None:
        return no(
            Reason.INDENTATION, "its new lines cannot be moved to where the old ones stand: indent as the file does"
        )
    if any(each is None or text.spliced(each) != text.spliced(splices) for each in made):
        places_ = f"its SEARCH text stands in {len(found)} places"
        return no(Reason.AMBIGUOUS, f"{places_}: quote more lines, or say `@@ Class.method`")
    lines = [line for splice in splices for line in splice.lines]
    if (elided := elision_in(lines, text)) is not None:
        return no(Reason.ELIDED, elided)
    return Placed(path=file.path, splices=splices)


def _outside(block: Block, file: SentFile, text: Text, found: Sequence[Place]) -> Rejection:
    shown = tuple(window(file.path, text.bodies, each.start, len(block.search)) for each in found[:_MOST_PLACES])
    message = f"its SEARCH text does not stand in `{block.anchor[:80]}`"
    return Rejection(reason=Reason.NOT_FOUND, path=file.path, block=block.number, message=message, windows=shown)


def _not_found(block: Block, file: SentFile, text: Text, spans: Sequence[Span]) -> Rejection:
    if any(_is_elision(line) for line in block.search):
        message = "its SEARCH text leaves lines out: quote every line, in a smaller block"
        return Rejection(reason=Reason.ELIDED, path=file.path, block=block.number, message=message)
    message = "its SEARCH text is not in the file: quote the lines exactly, with their spaces"
    windows = nearest(file.path, text.bodies, block.search, spans)
    return Rejection(reason=Reason.NOT_FOUND, path=file.path, block=block.number, message=message, windows=windows)


def _spans(file: SentFile, count: int) -> list[Span]:
    """What was shown, as lines from 0; pieces that touch are one."""
    if not file.regions:
        return [(0, count)]
    merged: list[Span] = []
    for first, last in sorted((max(first, 1) - 1, min(last, count)) for first, last in file.regions):
        if merged and first <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], last))
        else:
            merged.append((first, last))
    return merged


def _by_anchor(found: list[Place], block: Block, file: SentFile, count: int) -> list[Place]:
    """The places an anchor leaves: none, where it was set on purpose and names something else."""
    spans, is_named = _anchored(block.anchor, file.text, count)
    size = len(block.search)
    inside = [each for each in found if any(each.start < end and each.start + size > start for start, end in spans)]
    if is_named and block.firm:
        return inside
    return inside if inside and len(found) > 1 else found


def _anchored(anchor: str, text: str, count: int) -> tuple[list[Span], bool]:
    """The lines an anchor speaks of, and whether it is the name of something there."""
    if not anchor:
        return [], False
    name = _KEYWORDS.sub("", anchor.strip()).split("(")[0].rstrip(": \t")
    tree = tree_of(text)
    named = [(each.first, each.end) for each in symbols(tree) if each.is_named(name)] if tree is not None else []
    if named:
        return named, True
    standing = [index for index, body in enumerate(Text(text).bodies) if body.strip() == anchor.strip()]
    return ([(standing[0], count)] if len(standing) == 1 else []), False


def _splices(block: Block, at: Place, bodies: Sequence[str]) -> tuple[Splice, ...] | None:
    """What changes between SEARCH and REPLACE; lines they share stay as the file has them."""
    made = []
    strip = str.rstrip if at.level > EXACT else str
    old, new = [strip(line) for line in block.search], [strip(line) for line in block.replace]
    for low, high, new_low, new_high in differences(old, new):
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
    changes: list[Change] = differences(plain(before), plain(after))
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
    return bool(_ELISION.match(line) or _COMMENTED.match(line))


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
