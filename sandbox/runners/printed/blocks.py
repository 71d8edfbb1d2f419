"""Blocks of printed text: a heading, the lines below it, and the place of the failure."""

import re
from collections.abc import Iterator, Sequence

from sandbox.runners.findings import CheckoutPaths

BLOCK_LINES = 400
MAX_RESULTS = 500
FULL_RESULTS = 30
"""Number of failures that keep their text; others have name, place and message only."""
TEXT_CHARACTERS = 6000
MESSAGE_CHARACTERS = 1000
Frame = tuple[str, int, str]
Block = tuple[re.Match[str], list[str]]

_FRAME = re.compile(r'^ {2,40}File "([^"\n]{1,400})", line (\d{1,7})(?:, in ([^\n]{1,200}))?$')
_RAISED = re.compile(
    r"^([A-Za-z_][\w.]{0,150}): ?(.{0,1000})$|^([A-Za-z_][\w.]{0,150}(?:Error|Exception|Exit"
    r"|Interrupt))$"
)
_BRANCH = re.compile(r"^ *[|+] ?-{0,40}")
"""Line prefix in a printed exception group."""


def blocks(
    lines: Sequence[str],
    head: re.Pattern[str],
    end: re.Pattern[str] | None = None,
    *,
    most: int = BLOCK_LINES,
) -> Iterator[Block]:
    """Yield each heading with the lines below it, in one pass."""
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


def python_frames(lines: Sequence[str], checkout: CheckoutPaths) -> tuple[Frame, ...]:
    """Return the traceback frames that seem to be inside the checkout, outermost first."""
    found: list[Frame] = []
    for line in lines:
        match = _FRAME.match(line)
        if match is None:
            continue
        path = checkout.relative(match.group(1))
        if is_inside(path):
            found.append((path, int(match.group(2)), match.group(3) or "<module>"))
    # The innermost frames are the most informative ones.
    return tuple(found[-40:])


def is_inside(path: str) -> bool:
    """Return True if a path seems to be inside the checkout."""
    return (
        not path.startswith(("/", "<", "..")) and path[1:3] != ":/" and "site-packages/" not in path
    )


def last_exception(lines: Sequence[str]) -> tuple[str, str]:
    """Return class and message of the last exception of a traceback; empty if there is none."""
    inside = False
    found = ("", "")
    for line in lines:
        plain = _BRANCH.sub("", line)
        if plain.startswith("Traceback (most recent call last)"):
            inside = True
        elif inside and plain[:1] not in {" ", ""}:
            match = _RAISED.match(plain)
            if match is not None:
                found = (
                    (match.group(1) or match.group(3)).rsplit(".", 1)[-1],
                    plain[:MESSAGE_CHARACTERS],
                )
            inside = False
    return found


def join_bounded(lines: Sequence[str]) -> str:
    """Join the lines to bounded text."""
    text = "\n".join(lines).strip("\n")
    if len(text) <= TEXT_CHARACTERS:
        return text
    return (
        f"{text[: TEXT_CHARACTERS // 3]}\n[...]\n"
        f"{text[-(TEXT_CHARACTERS - TEXT_CHARACTERS // 3) :]}"
    )
