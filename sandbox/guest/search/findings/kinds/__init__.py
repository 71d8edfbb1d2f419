"""Kinds of findings, found by folder. Each has CODES, CHANGES, UNTOUCHED and propose(place)."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any, Dict


def load_kinds() -> Dict[str, Any]:
    """Return every kind of this folder by name, in alphabetical order."""
    names = sorted(found.name for found in pkgutil.iter_modules(__path__))
    return {name: importlib.import_module(f"{__name__}.{name}") for name in names}
