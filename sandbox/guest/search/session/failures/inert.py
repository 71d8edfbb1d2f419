"""Inspect objects without running their code, by dictionaries and type slots alone."""

from __future__ import annotations

import ast
import contextlib
import types
from typing import Any, Dict, List, Optional

from sandbox.guest.search.process.peek import is_a

MOST_NAMES = 500
"""Maximum number of attributes, module names or keys that are recorded."""
MOST_CLASSES = 20_000


def instance_dict(value: Any) -> Dict[Any, Any]:
    """Return the instance dictionary of an object."""
    with contextlib.suppress(Exception):
        own = object.__getattribute__(value, "__dict__")
        if type(own) in (dict, types.MappingProxyType):
            return dict(list(own.items())[:MOST_NAMES])
    return {}


def list_names(kind: type) -> List[str]:
    """Return the names that a type and its parents define."""
    names: List[str] = []
    for one in type.__getattribute__(kind, "__mro__"):
        names += [n for n in type.__getattribute__(one, "__dict__") if isinstance(n, str)]
    return names


def resolve(node: ast.AST, frame: types.FrameType) -> Any:
    """Return the value of a name or a chain of attributes, without running code, or None."""
    if isinstance(node, ast.Name):
        for space in (frame.f_locals, frame.f_globals, frame.f_builtins):
            if node.id in space:
                return space[node.id]
        return None
    if isinstance(node, ast.Attribute):
        made = node.value
        if isinstance(made, ast.Call):  # for `Thing(...).name`: the class attribute of this name
            maker = resolve(made.func, frame)
            return static(maker, node.attr) if is_a(maker, type) else None
        value = resolve(made, frame)
        return None if value is None else static(value, node.attr)
    return None


def static(value: Any, name: str) -> Any:
    """Return an attribute without calling descriptors; None if unknown."""
    if is_a(value, types.ModuleType):
        return vars(value).get(name)
    own = instance_dict(value) if not is_a(value, type) else {}
    if name in own:
        return own[name]
    for one in type.__getattribute__(value if is_a(value, type) else type(value), "__mro__"):
        space = type.__getattribute__(one, "__dict__")
        if name in space:
            return space[name]
    return None


def find_function(value: Any) -> Optional[types.FunctionType]:
    """Return the plain function behind a function, a method or a class."""
    if is_a(value, type):
        for one in type.__getattribute__(value, "__mro__"):
            own = type.__getattribute__(one, "__dict__")
            for name in ("__init__", "__new__"):
                maker = own.get(name)
                maker = getattr(maker, "__func__", maker) if is_a(maker, staticmethod) else maker
                if is_a(maker, types.FunctionType):
                    return maker
        return None
    if issubclass(type(value), (staticmethod, classmethod)):
        value = value.__func__
    if is_a(value, types.MethodType):
        value = value.__func__
    return value if is_a(value, types.FunctionType) else None


def classes() -> List[type]:
    """Return all classes, parents first.

    The garbage collector's list lacks objects that were frozen before a fork.
    """
    found: Dict[int, type] = {}
    waiting: List[type] = [object]
    while waiting and len(found) < MOST_CLASSES:
        one = waiting.pop(0)
        if id(one) not in found:
            found[id(one)] = one
            waiting += type.__subclasses__(one)
    return list(found.values())
