"""How renamed names are written down: tables of old and new, and what is written otherwise now."""

from __future__ import annotations

from typing import Dict, Mapping, NamedTuple, Tuple

Table = Mapping[str, Tuple[str, ...]]
"""New names by the old one, the likeliest first."""

EMPTY: Dict[str, Tuple[str, ...]] = {}


class Rewrite(NamedTuple):
    """A call or expression that is written otherwise now; `{value}` and `{args}` stand for its parts."""

    attribute: str
    text: str
    needs: str = ""
    """An import without which it does not work."""


class Renames(NamedTuple):
    """What some projects renamed."""

    modules: Table = EMPTY
    names: Table = EMPTY
    """Dotted names."""
    attributes: Table = EMPTY
    """Methods and attributes, whatever object they were asked of."""
    keywords: Table = EMPTY
    """Keywords of any callable; one that was dropped has no new name."""
    rewrites: Tuple[Rewrite, ...] = ()


def table(text: str) -> Table:
    """Lines `old -> new`; several old ones parted by blanks, several new ones by `|`."""
    found: Dict[str, Tuple[str, ...]] = {}
    for line in text.strip().splitlines():
        old, _, new = line.partition("->")
        for name in old.split():
            found[name] = (*found.get(name, ()), *(part.strip() for part in new.split("|") if part.strip()))
    return found


def joined(*tables: Table) -> Table:
    """Several tables as one; a name in more than one has all its successors."""
    found: Dict[str, Tuple[str, ...]] = {}
    for one in tables:
        for old, new in one.items():
            found[old] = (*found.get(old, ()), *new)
    return found
