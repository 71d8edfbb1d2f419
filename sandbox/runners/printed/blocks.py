"""Blocks of printed text: a headline, what stands below it, and where in there something failed."""

import re
from collections.abc import Iterator, Sequence

from sandbox.runners.findings import Checkout

BLOCK_LINES = 400
MAX_RESULTS = 500
FULL_RESULTS = 30
"""How many failures keep their text; the others have name, place and message."""
TEXT_CHARACTERS = 6000
MESSAGE_CHARACTERS = 1000
Frame = tuple[str, int, str]
Block = tuple[re.Match[str], list[str]]

_FRAME = re.compile(r'^ {2,40}File "([^"\n]{1,400})", line (\d{1,7})(?:, in ([^\n]{1,200}))?$')
_RAISED = re.compile(
    r"^([A-Za-z_][\w.]{0,150}): ?(.{0,1000})$|^([A-Za-z_][\w.]{0,150}(?:Error|Exception|Exit|Interrupt))$"
)
_BRANCH = re.compile(r"^ *[|+] ?-{0,40}")
"""In front of the lines of an exception group."""


def blocks(
    lines: Sequence[str], head: re.Pattern[str], end: re.Pattern[str] | None = None, *, most: int = BLOCK_LINES
) -> Iterator[Block]:
    """Each headline with at most so many lines below it, up to the next headline or the end; in one pass."""
    match: re.Match[str] | None = None
    body: list[str] = []
    for line in lines:
        found = head.match(line)
        if found is None and not (end is not None and match is not None and end.match(line)):
            if match is not None and len(body) < most:
                body.append(line)
            continue
        if match is not None:
            yield match, body
        match, body = found, []
    if match is not None:
        yield match, body


def python_frames(lines: Sequence[str], checkout: Checkout) -> tuple[Frame, ...]:
    """Frames of printed Python tracebacks that seem to lie in the checkout, outermost first."""
    found: list[Frame] = []
    for line in lines:
        match = _FRAME.match(line)
        if match is None:
            continue
        path = checkout.relative(match.group(1))
        if is_inside(path):
            found.append((path, int(match.group(2)), match.group(3) or "<module>"))
    return tuple(found[-40:])


def is_inside(path: str) -> bool:
    """Whether a path looks like one of the checkout."""
    return not path.startswith(("/", "<", "..")) and path[1:3] != ":/" and "site-packages/" not in path


def raised(lines: Sequence[str]) -> tuple[str, str]:
    """The class and the line of the last exception a traceback ends with; empty when there is none."""
    inside = False
    found = ("", "")
    for line in lines:
        plain = _BRANCH.sub("", line)
        if plain.startswith("Traceback (most recent call last)"):
            inside = True
        elif inside and plain[:1] not in {" ", ""}:
            match = _RAISED.match(plain)
            if match is not None:
                found = ((match.group(1) or match.group(3)).rsplit(".", 1)[-1], plain[:MESSAGE_CHARACTERS])
            inside = False
    return found


def text_of(lines: Sequence[str]) -> str:
    """The lines as bounded text."""
    text = "\n".join(lines).strip("\n")
    if len(text) <= TEXT_CHARACTERS:
        return text
    return f"{text[: TEXT_CHARACTERS // 3]}\n[...]\n{text[-(TEXT_CHARACTERS - TEXT_CHARACTERS // 3) :]}"
