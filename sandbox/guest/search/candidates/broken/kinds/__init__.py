"""Kinds of syntax errors, discovered by folder.

Each module defines COST, CHANGES, UNTOUCHED and `propose(view)`.
"""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any, Dict


def load_kinds() -> Dict[str, Any]:
    """Load every module of this folder by name, in alphabetical order."""
    names = sorted(found.name for found in pkgutil.iter_modules(__path__))
    return {name: importlib.import_module(f"{__name__}.{name}") for name in names}
