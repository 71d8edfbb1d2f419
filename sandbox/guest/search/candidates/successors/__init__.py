"""Successors of renamed, moved and removed names, from the release notes of their projects.

General knowledge as data, one file per group of projects. A successor that does not exist in the
environment is not proposed.
"""

from __future__ import annotations

from typing import List

from sandbox.guest.search.candidates.successors import (
    arrays,
    django,
    records,
    science,
    standard_library,
    tools,
    web,
)
from sandbox.guest.search.candidates.successors.notation import Rewrite, merge_tables
from sandbox.guest.search.candidates.successors.standard_library import BUILTINS

__all__ = [
    "ATTRIBUTES",
    "BUILTINS",
    "KEYWORDS",
    "REWRITES",
    "Rewrite",
    "successors_of",
    "successors_of_module",
]

_ALL = tuple(
    group.RENAMES for group in (standard_library, arrays, science, web, django, records, tools)
)

MODULES = merge_tables(*(one.modules for one in _ALL))
NAMES = merge_tables(*(one.names for one in _ALL))
"""By dotted name."""
ATTRIBUTES = merge_tables(*(one.attributes for one in _ALL))
"""Methods and attributes of any object; proposed only if the object has the successor."""
KEYWORDS = merge_tables(*(one.keywords for one in _ALL))
"""Keywords of any callable.

Proposed only if the callable accepts the new name or its signature is unknown.
"""
REWRITES = tuple(rewrite for one in _ALL for rewrite in one.rewrites)
"""By the name of the missing or deprecated attribute."""


def find_successors(dotted: str) -> List[str]:
    """Return current names of a dotted name, including moves of its module."""
    found = list(NAMES.get(dotted, ()))
    module, _, name = dotted.rpartition(".")
    # The name may have moved together with any of its parent modules.
    while module and not found:
        found += [f"{new}.{name}" for new in MODULES.get(module, ())]
        module, _, last = module.rpartition(".")
        name = f"{last}.{name}"
    return list(dict.fromkeys(n for n in found if n != dotted))


def find_module_successors(module: str) -> List[str]:
    """Return current names of a module, including moves of its parent."""
    found = [*MODULES.get(module, ()), *NAMES.get(module, ())]
    head, _, tail = module.rpartition(".")
    while head:
        found += [f"{new}.{tail}" for new in MODULES.get(head, ())]
        head, _, last = head.rpartition(".")
        tail = f"{last}.{tail}"
    return list(dict.fromkeys(found))
