"""Kinds of mistake that keep a file from being read, found by folder: COST, CHANGES, UNTOUCHED and propose(view)."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any, Dict


def load_kinds() -> Dict[str, Any]:
    """Every kind of this folder by its name, in the order of the alphabet."""
    names = sorted(found.name for found in pkgutil.iter_modules(__path__))
    return {name: importlib.import_module(f"{__name__}.{name}") for name in names}
