"""Read the directives of `go.mod` and `go.work`, line by line as Go does."""

import re
from collections.abc import Iterator

_NAME = re.compile(r'"?([\w.~/-]{1,300})')


def read_entries(text: str, directive: str) -> Iterator[str]:
    """Yield the entries of a directive, without comments: `require a v1`, `require ( … )`."""
    block = ""
    for line in text.split("\n"):
        plain = line.partition("//")[0].strip()
        if block and plain == ")":
            block = ""
        elif not block and plain.endswith("("):
            block = plain[:-1].rstrip()
        elif plain:
            name, *entry = [block, plain] if block else plain.split(maxsplit=1)
            if name == directive:
                yield from entry


def read_names(text: str, directive: str) -> list[str]:
    """Return the names of the modules in a directive."""
    found = map(_NAME.match, read_entries(text, directive))
    return [name[1] for name in found if name is not None]
