"""Fix templates that begin with the exception a test died of."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any, Dict


def load_guided_templates() -> Dict[str, Any]:
    """Every template module of this folder by its name, in the order of the alphabet."""
    names = sorted(found.name for found in pkgutil.iter_modules(__path__))
    return {name: importlib.import_module(f"{__name__}.{name}") for name in names}
