"""A survivor as the comparison needs it: how to put it into this process."""

from __future__ import annotations

import os
from typing import Any, Dict, NamedTuple, Sequence, Tuple

from sandbox.guest.search.compare.graft import graft
from sandbox.guest.search.source.functions import Swap


class Alternative(NamedTuple):
    """One survivor.

    Attributes:
        swaps: Which function gets which code; empty when files have to be run anew.
        files: Every edited file whole, as the survivor has it, by path.
        units: The edited functions, where only functions are edited.
    """

    swaps: Tuple[Swap, ...]
    files: Dict[str, bytes]
    units: Tuple[Any, ...] = ()

    def places(self) -> Tuple[str, ...]:
        """Names of what is edited; equal for survivors that edit the same functions."""
        if self.swaps and self.units:
            return tuple(sorted({f"{unit.source.path}:{unit.qualified_name}" for unit in self.units}))
        return tuple(sorted(f"{path}:" for path in self.files))

    def apply(self, root: str) -> None:
        """Change the running program; only ever in a process that ends soon."""
        for function, code in self.swaps:
            function.__code__ = code
        if not self.swaps:
            for path, data in sorted(self.files.items()):
                graft(os.path.join(root, path), data)


NOTHING = Alternative((), {})
"""The program before any edit."""


def edited_functions(alternatives: Sequence[Alternative]) -> Sequence[Any]:
    """Every live function that some survivor gives new code, in order."""
    return list(dict.fromkeys(function for one in alternatives for function, _ in one.swaps))
