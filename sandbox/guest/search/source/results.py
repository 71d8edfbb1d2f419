"""Result types of calls to built-in functions and methods."""

from __future__ import annotations

from typing import Optional, Sequence

from sandbox.guest.search.source import kinds
from sandbox.guest.search.source.kinds import NOTHING, ValueKind, kind, union


def result_of_built_in(name: str, given: Sequence[Optional[ValueKind]]) -> Optional[ValueKind]:
    """Return the result type of a built-in function, or None if unknown."""
    first = given[0] if given else None
    if name in kinds.CALLS:
        return kinds.CALLS[name]
    if name in ("list", "sorted", "set", "tuple"):
        made = "list" if name == "sorted" else name
        if not given:
            return kind(made, item=NOTHING)
        return kind(made, item=first.item if first else None)
    if name == "enumerate":
        return kind("iterator", item=kind("tuple", item=None))
    if name in ("abs", "round"):
        return first
    if name in ("sum", "max", "min"):
        return first.item if first is not None else None
    return None


def result_of_method(base: ValueKind, name: str) -> Optional[ValueKind]:
    """Return the result type of a method, or None if unknown."""
    if name in ("pop", "popleft"):
        return base.value if base.names <= {"dict"} else base.item
    if name == "copy":
        return base
    if base.names <= {"dict"} and name in ("get", "setdefault"):
        return None
    if base.names <= {"dict"} and name in ("keys", "values", "items"):
        item = {"keys": base.item, "values": base.value, "items": kind("tuple")}[name]
        return kinds.METHODS["dict"][name]._replace(item=item, sure=base.sure)
    found = union([kinds.METHODS.get(n, {}).get(name) for n in sorted(base.names - {"NoneType"})])
    return found._replace(sure=base.sure) if found and found.names else None
