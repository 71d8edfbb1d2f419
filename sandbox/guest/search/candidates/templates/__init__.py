"""Templates for statements and expressions inside functions, one module per kind of mistake.

Modules are discovered by folder and define COST, CHANGES, UNTOUCHED and `propose`. Subfolders hold
templates for other places and are loaded separately.
"""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any, Dict


def load_templates() -> Dict[str, Any]:
    """Load every template module of this folder by name, in alphabetical order."""
    names = sorted(found.name for found in pkgutil.iter_modules(__path__) if not found.ispkg)
    return {name: importlib.import_module(f"{__name__}.{name}") for name in names}
