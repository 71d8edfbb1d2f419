"""Data types and a compact notation for tables of renamed names."""

from __future__ import annotations

from typing import Dict, Mapping, NamedTuple, Tuple

Table = Mapping[str, Tuple[str, ...]]
"""New names by old name, most likely first."""

EMPTY: Dict[str, Tuple[str, ...]] = {}


class Rewrite(NamedTuple):
    """A new spelling of a call or expression, with placeholders such as `{value}` and `{args}`."""

    attribute: str
    text: str
    needs: str = ""
    """Import line that the new spelling requires."""


class Renames(NamedTuple):
    """Renames of a group of projects."""

    modules: Table = EMPTY
    names: Table = EMPTY
    """By dotted name."""
    attributes: Table = EMPTY
    """Methods and attributes of any object."""
    keywords: Table = EMPTY
    """Keywords of any callable; a removed keyword has no new name."""
    rewrites: Tuple[Rewrite, ...] = ()


def table(text: str) -> Table:
    """Parse lines of the form `old -> new`.

    Several old names are separated by blanks, several new names by `|`.
    """
    found: Dict[str, Tuple[str, ...]] = {}
    for line in text.strip().splitlines():
        old, _, new = line.partition("->")
        for name in old.split():
            found[name] = (
                *found.get(name, ()),
                *(part.strip() for part in new.split("|") if part.strip()),
            )
    return found


def merge_tables(*tables: Table) -> Table:
    """Merge tables; a name in several tables gets all its successors."""
    found: Dict[str, Tuple[str, ...]] = {}
    for one in tables:
        for old, new in one.items():
            found[old] = (*found.get(old, ()), *new)
    return found
