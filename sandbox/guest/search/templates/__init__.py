"""All fix templates, found by folder: each file is one kind of mistake with COST, CHANGES, UNTOUCHED and propose."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any, Dict, Iterable, Iterator


def load_templates() -> Dict[str, Any]:
    """Every template module of this folder and the folders inside it, by the last part of its name, in that order.

    Raises:
        ValueError: two modules have the same name.
    """
    found: Dict[str, Any] = {}
    for path in _modules(__path__, __name__):
        name, module = path.rpartition(".")[2], importlib.import_module(path)
        if not hasattr(module, "propose"):
            continue  # what templates share
        if name in found:
            raise ValueError(f"two templates are called {name}")
        found[name] = module
    return {name: found[name] for name in sorted(found)}


def _modules(folders: Iterable[str], package: str) -> Iterator[str]:
    for module in pkgutil.iter_modules(list(folders)):
        path = f"{package}.{module.name}"
        if module.ispkg:
            yield from _modules(importlib.import_module(path).__path__, path)
        else:
            yield path
