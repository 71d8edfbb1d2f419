"""Names that were renamed, moved or dropped, and what the release notes of their projects name in their place.

General knowledge, as data, a file for each group of projects. A successor that is not there in this environment is
not proposed.
"""

from __future__ import annotations

from typing import List

from sandbox.guest.search.candidates.successors import arrays, django, records, science, standard_library, tools, web
from sandbox.guest.search.candidates.successors.notation import Rewrite, joined
from sandbox.guest.search.candidates.successors.standard_library import BUILTINS

__all__ = ["ATTRIBUTES", "BUILTINS", "KEYWORDS", "REWRITES", "Rewrite", "successors_of", "successors_of_module"]

_ALL = tuple(group.RENAMES for group in (standard_library, arrays, science, web, django, records, tools))

MODULES = joined(*(one.modules for one in _ALL))
NAMES = joined(*(one.names for one in _ALL))
"""Dotted names."""
ATTRIBUTES = joined(*(one.attributes for one in _ALL))
"""Methods and attributes, whatever object they were asked of; only those that the object has are proposed."""
KEYWORDS = joined(*(one.keywords for one in _ALL))
"""Keywords of any callable; a new name is proposed only where the callable takes it (or tells nothing)."""
REWRITES = tuple(rewrite for one in _ALL for rewrite in one.rewrites)
"""By the name of the attribute that is missing or deprecated."""


def successors_of(dotted: str) -> List[str]:
    """What a dotted name may be called now; a part of it may have moved with its module."""
    found = list(NAMES.get(dotted, ()))
    module, _, name = dotted.rpartition(".")
    while module and not found:
        found += [f"{new}.{name}" for new in MODULES.get(module, ())]
        module, _, last = module.rpartition(".")
        name = f"{last}.{name}"
    return list(dict.fromkeys(n for n in found if n != dotted))


def successors_of_module(module: str) -> List[str]:
    """What a module may be called now; its parent may have moved."""
    found = [*MODULES.get(module, ()), *NAMES.get(module, ())]
    head, _, tail = module.rpartition(".")
    while head:
        found += [f"{new}.{tail}" for new in MODULES.get(head, ())]
        head, _, last = head.rpartition(".")
        tail = f"{last}.{tail}"
    return list(dict.fromkeys(found))
