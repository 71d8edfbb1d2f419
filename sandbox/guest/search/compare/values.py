"""Values by structure.

Equal values have equal texts, and inputs are written as a reader would write the call.
"""

from __future__ import annotations

import re
import types
from typing import Any, Dict, List, Sequence, Tuple

ADDRESS = re.compile(r"0x[0-9a-fA-F]+")
MOST_NODES = 1500
MOST_ITEMS = 200
MOST_DEPTH = 6
MOST_TEXT = 4000
PLAIN = (int, str, bytes, bool, type(None), complex)


class _Shaper:
    """Writes one value, with limits because a repository's value may be endless."""

    def __init__(self) -> None:
        self._left = MOST_NODES

    def of(self, value: Any, depth: int) -> str:
        self._left -= 1
        if depth > MOST_DEPTH or self._left < 0:
            return "..."
        if type(value) is float:
            # Rounded, because the order of a sum is not behaviour.
            return "float(" + format(value, ".10g") + ")"
        if type(value) in PLAIN:
            return repr(value)[:MOST_TEXT]
        try:
            return self._structure(value, depth)
        except Exception:  # incomplete objects, or an overridden `repr` or `len`
            return type(value).__name__ + " that cannot be read"

    def _structure(self, value: Any, depth: int) -> str:
        if isinstance(value, (set, frozenset)):
            return "{" + ", ".join(sorted(self._all(value, depth))) + "}"
        if isinstance(value, dict):
            return self._dictionary(value, depth)
        if isinstance(value, (list, tuple)):
            return type(value).__name__ + "(" + ", ".join(self._all(value, depth)) + ")"
        if isinstance(
            value, (type, types.FunctionType, types.BuiltinFunctionType, types.MethodType)
        ):
            return str(getattr(value, "__qualname__", type(value).__name__))
        if isinstance(value, types.ModuleType):
            return "module " + value.__name__
        return self._object(value, depth)

    def _all(self, values: Any, depth: int) -> List[str]:
        items = [self.of(item, depth + 1) for _, item in zip(range(MOST_ITEMS), values)]
        return (
            items if len(values) <= MOST_ITEMS else [*items, f"and {len(values) - MOST_ITEMS} more"]
        )

    def _dictionary(self, value: Dict[Any, Any], depth: int) -> str:
        pairs = [
            f"{self.of(k, depth + 1)}: {self.of(v, depth + 1)}"
            for _, (k, v) in zip(range(MOST_ITEMS), value.items())
        ]
        return type(value).__name__ + "{" + ", ".join(sorted(pairs)) + "}"

    def _object(self, value: Any, depth: int) -> str:
        name = type(value).__name__
        slots = [s for kind in type(value).__mro__ for s in _slots(kind)]
        state = {slot: getattr(value, slot) for slot in slots if hasattr(value, slot)}
        state.update(getattr(value, "__dict__", {}))
        if state:
            return name + self._dictionary(state, depth)
        return name + " " + ADDRESS.sub("0x", repr(value))[:MOST_TEXT]


def _slots(kind: type) -> Tuple[str, ...]:
    slots = kind.__dict__.get("__slots__", ())
    names = (slots,) if isinstance(slots, str) else tuple(slots)
    return tuple(
        name
        for name in names
        if name not in ("__dict__", "__weakref__") and not name.startswith("__")
    )


def shape(value: Any) -> str:
    """Return a text that is equal for equal values; sets and dictionaries are sorted."""
    return _Shaper().of(value, 0)[:MOST_TEXT]


def to_text(value: Any, most: int = 120) -> str:
    """Return a value in one short line, as a person would write it."""
    try:
        text = ADDRESS.sub("0x", repr(value))
        if " object at 0x" in text and text.startswith("<") and getattr(value, "__dict__", None):
            text = _by_state(value)
    except Exception:
        text = f"<{type(value).__name__}>"
    text = " ".join(text.split()) if "\n" in text else text
    return text if len(text) <= most else text[: most - 3] + "..."


def _by_state(value: Any) -> str:
    """Return `Node(value=3, next=None)` for an object without its own `repr`."""
    parts = []
    for name, item in list(vars(value).items())[:4]:
        text = ADDRESS.sub("0x", repr(item))
        parts.append(f"{name}={text if len(text) <= 30 else '...'}")
    return f"{type(value).__name__}({', '.join(parts)})"


def to_call_text(
    name: str, positional: Sequence[Any], named: Dict[str, Any], own: Any = None
) -> str:
    """Return `clamp(3, low=5)`, or `Basket([1]).add(2)` with the object of a method."""
    parts = [to_text(value) for value in positional] + [
        f"{key}={to_text(value)}" for key, value in named.items()
    ]
    before = ""
    if own is not None:
        text = to_text(own, 80)
        before = (text if not text.startswith("<") else type(own).__name__ + "(...)") + "."
    return f"{before}{name}({', '.join(parts)})"
