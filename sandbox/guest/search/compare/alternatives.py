"""A survivor as the comparison uses it: how to apply it to this process."""

from __future__ import annotations

import os
from typing import Any, Dict, NamedTuple, Sequence, Tuple

from sandbox.guest.search.compare.graft import graft
from sandbox.guest.search.source.functions import Swap


class Alternative(NamedTuple):
    """One survivor.

    Attributes:
        swaps: Functions and their new code; empty if files have to be executed again.
        files: The full content of every edited file, by path.
        units: The edited functions, if only functions are edited.
    """

    swaps: Tuple[Swap, ...]
    files: Dict[str, bytes]
    units: Tuple[Any, ...] = ()

    def places(self) -> Tuple[str, ...]:
        """Return names of the edited places, equal for survivors that edit the same functions."""
        if self.swaps and self.units:
            return tuple(
                sorted({f"{unit.source.path}:{unit.qualified_name}" for unit in self.units})
            )
        return tuple(sorted(f"{path}:" for path in self.files))

    def apply(self, root: str) -> None:
        """Change the running program; only for a process that ends soon."""
        for function, code in self.swaps:
            function.__code__ = code
        if not self.swaps:
            for path, data in sorted(self.files.items()):
                graft(os.path.join(root, path), data)


NOTHING = Alternative((), {})
"""The unedited program."""


def edited_functions(alternatives: Sequence[Alternative]) -> Sequence[Any]:
    """Return all live functions that some survivor edits, in order."""
    return list(dict.fromkeys(function for one in alternatives for function, _ in one.swaps))
