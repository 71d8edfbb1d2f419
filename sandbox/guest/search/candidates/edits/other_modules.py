"""Modules that an import may have meant: similar names, or other package levels."""

from __future__ import annotations

import ast
from typing import Iterator, List, Tuple

from sandbox.guest.search.candidates.spots import FailureContext, Spot
from sandbox.guest.search.source.texts import close_names


def similar_modules(
    node: ast.ImportFrom, missing: str, spot: Spot, view: FailureContext
) -> List[str]:
    """Return modules with a name similar to the missing one."""
    parent, _, last = (missing or node.module or "").rpartition(".")
    rest = (node.module or "")[len(missing) :] if (node.module or "").startswith(missing) else ""
    found = [
        f"{parent}.{n}" if parent else n
        for n in close_names(last, view.lookups.submodules(parent), 3)
    ]
    if parent and view.lookups.exists(parent):
        found.append(parent)
    if node.level and node.module:
        folder = view.module_name(spot.source.path)
        folder = folder if spot.source.path.endswith("__init__.py") else folder.rpartition(".")[0]
        near = close_names(node.module.split(".")[-1], view.lookups.submodules(folder), 3)
        return ["." * node.level + n for n in near] + [f"{m}{rest}" for m in found]
    return [f"{module}{rest}" for module in found]


def shift_levels(
    node: ast.ImportFrom, spot: Spot, view: FailureContext, cost: float
) -> Iterator[Tuple[float, str]]:
    """Yield relative, absolute and shifted forms of an import."""
    here, name = view.module_name(spot.source.path), node.module or ""
    if node.level:
        package = here.split(".")
        depth = node.level - (1 if spot.source.path.endswith("__init__.py") else 0)
        prefix = ".".join(package[: len(package) - depth]) if depth < len(package) else ""
        yield cost + 0.2, f"{prefix}.{name}" if prefix and name else name or prefix
        yield cost + 0.3, name
        yield cost + 0.4, "." * (node.level + 1) + name
        if node.level > 1:
            yield cost + 0.3, "." * (node.level - 1) + name
    elif name:
        yield cost + 0.2, "." + name
        if name.startswith(here.partition(".")[0] + "."):
            yield cost + 0.4, "." + name.partition(".")[2]
