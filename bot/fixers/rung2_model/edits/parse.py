"""Find the edits in the text of an answer: text in, values out; no file is read."""

import re
from collections.abc import Collection, Sequence

from bot.fixers.rung2_model.edits.labels import Fence, fences_of, label_above
from bot.fixers.rung2_model.edits.values import EditFormat, Reason, Rejection
from sandbox.types import Frozen

MAX_ANSWER = 256 * 1024
MAX_BLOCKS = 50
_ANSI = re.compile(r"\x1b\[[0-9;?]{0,20}[A-Za-z]")
_MARKER = re.compile(
    r"^(?P<indent>[ \t]{0,12})"
    r"(?:(?P<open><{5,9}) ?SEARCH|(?P<divide>={5,9})|(?P<close>>{5,9}) ?REPLACE)[ \t]*$"
)
_LIKE_MARKER = re.compile(r"^[ \t]{0,12}(?:<{2,40} ?SEARCH|>{2,40} ?REPLACE)[ \t]*$")


class Block(Frozen):
    """Lines to be found, and what shall stand in their place."""

    number: int
    """From 1, in the order of the answer."""
    path: str = ""
    """As the answer spells it; empty where it names none."""
    search: tuple[str, ...] = ()
    replace: tuple[str, ...] = ()
    anchor: str = ""
    firm: bool = True
    """The anchor was set on purpose; the headings of diffs are not."""
    creates: bool = False
    """The format itself says that the file is new."""


class Parsed(Frozen):
    """What an answer holds."""

    format: EditFormat | None = None
    blocks: tuple[Block, ...] = ()
    fences: tuple[Fence, ...] = ()
    """Where the format is code in fences."""
    rejections: tuple[Rejection, ...] = ()


def too_many(form: EditFormat | None) -> Parsed:
    """What becomes of an answer with more edits than anybody needs."""
    message = f"it has more than {MAX_BLOCKS} edits"
    return Parsed(format=form, rejections=(Rejection(reason=Reason.TOO_LARGE, message=message),))


def prepare(text: str) -> list[str]:
    """The lines of an answer, without colours, carriage returns and what a model thought before it answered."""
    text = _ANSI.sub("", text.removeprefix("\ufeff")).replace("\r\n", "\n")
    opening = re.match(r"\s{0,100}<(think(?:ing)?)>", text)
    if opening is not None:
        text = text.partition(f"</{opening[1]}>")[2]
    return text.split("\n")


def is_search_replace(lines: Sequence[str]) -> bool:
    """Whether an answer speaks in SEARCH/REPLACE blocks, well formed or not."""
    return any(_LIKE_MARKER.match(line) for line in lines)


def search_replace(lines: Sequence[str], known: Collection[str]) -> Parsed:
    """The SEARCH/REPLACE blocks of an answer.

    Args:
        lines: Of the answer.
        known: Paths that were sent.
    """
    blocks, rejections, at, path = list[Block](), list[Rejection](), 0, ""
    behind = 0
    while at < len(lines):
        match = _MARKER.match(lines[at])
        if match is None or match["divide"]:
            at += 1
            continue
        number = len(blocks) + len(rejections) + 1
        if number > 2 * MAX_BLOCKS:
            return too_many(EditFormat.SEARCH_REPLACE)
        body = _body(lines, at) if match["open"] else "a block ends that never began"
        if isinstance(body, str):
            rejections.append(Rejection(reason=Reason.MALFORMED, block=number, message=body))
            at += 1
            continue
        label = label_above(lines, at, known, stop=behind)
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
        rejections.append(Rejection(reason=Reason.MALFORMED, message="its marker lines are not of 5 to 9 characters"))
    return Parsed(format=EditFormat.SEARCH_REPLACE, blocks=tuple(blocks), rejections=tuple(rejections))


def _body(lines: Sequence[str], start: int) -> tuple[int, int] | str:
    """Where a block is divided and where it ends, or what is wrong with it.

    Markers as long as the first one are its own; only when those do not add up, any length counts. What reads well
    both ways and differently is not guessed at.
    """
    exact, loose = _cut(lines, start, any_length=False), _cut(lines, start, any_length=True)
    if isinstance(exact, str):
        return loose
    if isinstance(loose, str) or loose == exact:
        return exact
    return "its markers are of different lengths and can be read in two ways"


def _cut(lines: Sequence[str], start: int, *, any_length: bool) -> tuple[int, int] | str:
    first = _MARKER.match(lines[start])
    size = len(first["open"]) if first is not None else 0
    indent = first["indent"] if first is not None else ""
    dividers = []
    for at in range(start + 1, len(lines)):
        match = _MARKER.match(lines[at])
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
                    "more than one line of `=======` could divide it; use 9 marker characters on all three marker lines"
                )
            )
    return "it has no `>>>>>>> REPLACE` at its end"


def code_fences(lines: Sequence[str], known: Collection[str]) -> tuple[Fence, ...]:
    """The pieces of code in an answer; one without any fence is a piece of code as a whole.

    Args:
        lines: Of the answer.
        known: Paths that were sent.
    """
    fences = fences_of(lines, known)
    if fences or not any(line.strip() for line in lines):
        return fences
    return (Fence(first=0, last=len(lines) - 1, lines=tuple(lines), closed=False),)
