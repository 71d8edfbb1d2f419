"""Parse the frames of Node.js, Jest, vitest and mocha, also in files like `(app)/[id]/a b.ts`."""

import re

from sandbox.runners.findings import CheckoutPaths

_SOURCE = r"\.(?:[cm]?[jt]sx?|svelte|vue|astro)"
FILE = rf"(?:[^\s:>]{{0,200}}/[^:>\n]{{0,300}}?|[^\s:>]{{1,300}}?){_SOURCE}"
"""A file in a heading. One with spaces has a folder in its first word."""
_ANY = rf"(?P<path>(?:file://)?[^\s:][^:\n]{{0,400}}?{_SOURCE})"
_PLACE = r":(?P<line>\d{1,7}):\d{1,7}"
_AT = re.compile(rf"^ {{1,60}}at (?:async )?(?:[^()/\n]{{1,200}} \()?{_ANY}{_PLACE}\)?(?: \{{)?$")
"""`    at check (/work/(app)/sum.js:1:65)`, `    at file:///work/my%20page/x.mjs:3:1`."""
_ARROW = re.compile(rf"^ {{1,12}}\u276f (?:[^/\n]{{0,200}} )?{_ANY}{_PLACE}$")
"""A frame of vitest, `check src/my page/sum.mjs:1:56` after an arrow: a function has no slash."""
_PLAIN = re.compile(
    rf"^ {{1,60}}(?:(?:\S[^/\n]{{0,200}} )?\((?P<inner>(?:file://)?[^\s:][^:\n]{{0,400}}?{_SOURCE})"
    rf"|(?P<bare>(?:file://)?[\w./@+$-]{{1,300}}{_SOURCE})){_PLACE}\)?(?: \{{)?$"
)
"""`      check (/work/(app)/sum.js:1:65)` of TAP."""
_CUT = re.compile(r"(?<=\))(?:\.\./)+")
"""Jest takes what follows the last parenthesis for a path from the root of the file system."""


def read_frame(line: str, checkout: CheckoutPaths) -> tuple[str, int] | None:
    """Return file and line of a printed frame; None for any other line."""
    found = _AT.match(line) or _ARROW.match(line)
    if found is not None:
        return place_of(found["path"], checkout), int(found["line"])
    plain = _PLAIN.match(line)
    if plain is None:
        return None
    return place_of(plain["inner"] or plain["bare"], checkout), int(plain["line"])


def place_of(path: str, checkout: CheckoutPaths) -> str:
    """Return a printed path relative to the checkout."""
    return checkout.relative(_CUT.sub("/", path))
