"""Templates for code outside functions: tables, defaults, decorators, classes, imports."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any, Dict


def load_outer_templates() -> Dict[str, Any]:
    """Load every template module of this folder by name, in alphabetical order."""
    names = sorted(found.name for found in pkgutil.iter_modules(__path__))
    return {name: importlib.import_module(f"{__name__}.{name}") for name in names}
