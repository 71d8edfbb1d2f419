"""All fix templates inside functions, found by folder: one kind of mistake each, with COST, tables and propose.

The folders inside hold templates for other places, which are loaded by themselves.
"""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any, Dict


def load_templates() -> Dict[str, Any]:
    """Every template module of this folder by its name, in the order of the alphabet."""
    names = sorted(found.name for found in pkgutil.iter_modules(__path__) if not found.ispkg)
    return {name: importlib.import_module(f"{__name__}.{name}") for name in names}
