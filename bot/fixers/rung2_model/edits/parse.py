"""Find the edits in the text of an answer, without reading any file."""

import re
from collections.abc import Collection, Sequence

from bot.fixers.rung2_model.edits.labels import Fence, find_fences, label_above
from bot.fixers.rung2_model.edits.values import EditFormat, Reason, Rejection
from sandbox.types import Frozen

MAX_ANSWER = 256 * 1024
MAX_BLOCKS = 50
_ANSI = re.compile(r"\x1b\[[0-9;?]{0,20}[A-Za-z]")
MARKER = re.compile(
    r"^(?P<indent>[ \t]{0,12})"
    r"(?:(?P<open><{5,9}) ?SEARCH|(?P<divide>={5,9})|(?P<close>>{5,9}) ?REPLACE)[ \t]*$"
)
"""A line that begins, divides or ends an edit."""
_LIKE_MARKER = re.compile(r"^[ \t]{0,12}(?:<{2,40} ?SEARCH|>{2,40} ?REPLACE)[ \t]*$")


class Block(Frozen):
    """Lines to search for, and their replacement."""

    number: int
    """From 1, in the order of the answer."""
    path: str = ""
    """As written in the answer; empty if it has none."""
    search: tuple[str, ...] = ()
    replace: tuple[str, ...] = ()
    anchor: str = ""
    firm: bool = True
    """True for an explicit anchor, False for the heading of a diff hunk."""
    creates: bool = False
    """True if the format itself marks the file as new."""


class Parsed(Frozen):
    """Edits found in an answer."""

    format: EditFormat | None = None
    blocks: tuple[Block, ...] = ()
    fences: tuple[Fence, ...] = ()
    """Set if the format is fenced code."""
    rejections: tuple[Rejection, ...] = ()


def too_many(form: EditFormat | None) -> Parsed:
    """Reject an answer with too many edits."""
    message = f"it has more than {MAX_BLOCKS} edits"
    return Parsed(format=form, rejections=(Rejection(reason=Reason.TOO_LARGE, message=message),))


def prepare(text: str) -> list[str]:
    """Split an answer into lines, without colours, carriage returns and a leading thinking part."""
    text = _ANSI.sub("", text.removeprefix("\ufeff")).replace("\r\n", "\n")
    opening = re.match(r"\s{0,100}<(think(?:ing)?)>", text)
    if opening is not None:
        text = text.partition(f"</{opening[1]}>")[2]
    return text.split("\n")


def is_search_replace(lines: Sequence[str]) -> bool:
    """Return True if an answer uses SEARCH/REPLACE blocks, well formed or not."""
    return any(_LIKE_MARKER.match(line) for line in lines)


def search_replace(lines: Sequence[str], known: Collection[str]) -> Parsed:
    """Parse the SEARCH/REPLACE blocks of an answer.

    Args:
        lines: Lines of the answer.
        known: Paths that were sent.
    """
    blocks, rejections, at, path = list[Block](), list[Rejection](), 0, ""
    behind = 0
    while at < len(lines):
        match = MARKER.match(lines[at])
        if match is None or match["divide"]:
            at += 1
            continue
        number = len(blocks) + len(rejections) + 1
        if number > 2 * MAX_BLOCKS:
            return too_many(EditFormat.SEARCH_REPLACE)
        body = _body(lines, at) if match["open"] else "a block ends without a beginning"
        if isinstance(body, str):
            rejections.append(Rejection(reason=Reason.MALFORMED, block=number, message=body))
            at += 1
            continue
        label = label_above(lines, at, known, stop=behind)
        # Models often name the file only above the first block.
        path = label.path or path
        divider, end = body
        blocks.append(
            Block(
                number=number,
                path=path,
                search=tuple(lines[at + 1 : divider]),
                replace=tuple(lines[divider + 1 : end]),
                anchor=label.anchor,
            )
        )
        at = behind = end + 1
    if not blocks and not rejections:
        rejections.append(
            Rejection(
                reason=Reason.MALFORMED, message="its marker lines do not have 5 to 9 characters"
            )
        )
    return Parsed(
        format=EditFormat.SEARCH_REPLACE, blocks=tuple(blocks), rejections=tuple(rejections)
    )


def _body(lines: Sequence[str], start: int) -> tuple[int, int] | str:
    """Return the divider and end of a block, or an error message.

    Markers with the length of the first one are tried first, then markers of any length. A block
    with two different readings is rejected.
    """
    exact, loose = _cut(lines, start, any_length=False), _cut(lines, start, any_length=True)
    if isinstance(exact, str):
        return loose
    if isinstance(loose, str) or loose == exact:
        return exact
    return "its markers are of different lengths and can be read in two ways"


def _cut(lines: Sequence[str], start: int, *, any_length: bool) -> tuple[int, int] | str:
    first = MARKER.match(lines[start])
    size = len(first["open"]) if first is not None else 0
    indent = first["indent"] if first is not None else ""
    dividers = []
    for at in range(start + 1, len(lines)):
        match = MARKER.match(lines[at])
        if match is None or match["indent"] != indent:
            continue
        mark = match["open"] or match["divide"] or match["close"]
        if not any_length and len(mark) != size:
            continue
        if match["open"]:
            return "it has no `>>>>>>> REPLACE` before the next block begins"
        if match["divide"]:
            dividers.append(at)
        elif len(dividers) == 1:
            return dividers[0], at
        else:
            return (
                "it has no line of `=======`"
                if not dividers
                else (
                    "it has several lines of `=======`; "
                    "use 9 marker characters on all three marker lines"
                )
            )
    return "it has no `>>>>>>> REPLACE` at its end"


def code_fences(lines: Sequence[str], known: Collection[str]) -> tuple[Fence, ...]:
    """Return the fenced code of an answer; without fences, the whole answer.

    Args:
        lines: Lines of the answer.
        known: Paths that were sent.
    """
    fences = find_fences(lines, known)
    if fences or not any(line.strip() for line in lines):
        return fences
    return (Fence(first=0, last=len(lines) - 1, lines=tuple(lines), closed=False),)
