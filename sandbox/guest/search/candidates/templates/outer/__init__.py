"""Fix templates outside function bodies: tables, defaults, decorators, classes, signatures, imports."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any, Dict


def load_outer_templates() -> Dict[str, Any]:
    """Every template module of this folder by its name, in the order of the alphabet."""
    names = sorted(found.name for found in pkgutil.iter_modules(__path__))
    return {name: importlib.import_module(f"{__name__}.{name}") for name in names}
