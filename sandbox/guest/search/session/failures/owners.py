"""The owner of a missing name: a module, an object or a dictionary."""

from __future__ import annotations

import ast
import os
import re
import sys
import types
from typing import Any, Dict, List, Sequence

from sandbox.guest.search.process.peek import is_a, peek
from sandbox.guest.search.session.failures.frames import Frame, nodes_at, relative
from sandbox.guest.search.session.failures.inert import (
    MOST_NAMES,
    find_function,
    instance_dict,
    list_names,
    resolve,
)


def quoted_in(message: str) -> str:
    """Return the first quoted text."""
    found = re.search(r"'([^']+)'", message)
    return found.group(1) if found else ""


def import_details(exc: ImportError, root: str) -> Dict[str, Any]:
    """Return the module and name of a failed import, and the names in the module."""
    details: Dict[str, Any] = {"module": exc.name or "", "path": relative(exc.path or "", root)}
    found = re.match(r"cannot import name '([^']+)'", str(exc.args[0]) if exc.args else "")
    if found:
        details["name"] = found.group(1)
        module = sys.modules.get(exc.name or "")
        if module is not None:
            details["owner"] = describe_owner(module, root)
    return details


def attribute_details(
    exc: AttributeError, message: str, frames: Sequence[Frame], root: str
) -> Dict[str, Any]:
    """Return the name of a missing attribute and its owner."""
    name = getattr(exc, "name", None)
    if not isinstance(name, str):
        found = re.findall(r"'([^']+)'", message)
        name = found[-1] if found else ""
    owner = getattr(exc, "obj", None)
    for frame in reversed(frames[-3:] if owner is None else ()):
        owner = _find_owner(name, message, frame) if owner is None else owner
    return {
        "name": name,
        "owner": describe_owner(owner, root) if owner is not None else {"type": quoted_in(message)},
    }


def _find_owner(name: str, message: str, last: Frame) -> Any:
    """Return the owner of a missing attribute in Python versions whose exception lacks it."""
    module = re.match(r"(?:partially initialized )?module '([^']+)'", message)
    if module and module.group(1) in sys.modules:
        return sys.modules[module.group(1)]
    for node in nodes_at(last):
        if isinstance(node, ast.Attribute) and node.attr == name:
            found = resolve(node.value, last[0])
            if found is not None:
                return found
    return None


def describe_owner(value: Any, root: str) -> Dict[str, Any]:
    """Return the known facts about an owner; its own code never runs."""
    is_module, is_type = is_a(value, types.ModuleType), is_a(value, type)
    kind = value if is_type else type(value)
    names: Dict[str, None] = {}
    if is_module:
        names = dict.fromkeys(str(n) for n in list(vars(value)))
        names.update(
            dict.fromkeys(list_names(type(value))) if type(value) is not types.ModuleType else {}
        )
    else:
        names = dict.fromkeys([*map(str, instance_dict(value)), *list_names(kind)])
    module = value.__name__ if is_module else type.__getattribute__(kind, "__module__")
    home = sys.modules.get(module) if isinstance(module, str) else None
    file = peek(home, "__file__") if home is not None else None
    return {
        "type": "module" if is_module else kind.__name__,
        "kind": "module" if is_module else "class" if is_type else "object",
        "module": module if isinstance(module, str) else "",
        "bases": [c.__name__ for c in type.__getattribute__(kind, "__mro__")][:20]
        if not is_module
        else [],
        "file": relative(file, root) if isinstance(file, str) else "",
        "names": list(names)[:MOST_NAMES],
        "inner": _inner(value) if is_module else {},
    }


def _inner(module: types.ModuleType) -> Dict[str, List[str]]:
    """Return the public classes named like their module, with their attributes.

    An example is `datetime.datetime`.
    """
    last = module.__name__.rpartition(".")[2].lower()
    classes = {n: v for n, v in vars(module).items() if is_a(v, type) and not n.startswith("_")}
    near = {n: v for n, v in classes.items() if n.lower() == last} or dict(
        list(classes.items())[:6]
    )
    return {n: list_names(v)[:200] for n, v in near.items()}


def key_details(key: Any, last: Frame) -> Dict[str, Any]:
    """Return a missing key and the existing ones."""
    details: Dict[str, Any] = {
        "key": repr(key)[:200] if type(key) in (str, int, float, bytes, tuple) else ""
    }
    for node in nodes_at(last):
        holder = None
        if isinstance(node, ast.Subscript):
            holder = resolve(node.value, last[0])
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            holder = resolve(node.func.value, last[0])
        if is_a(holder, dict) and not dict.__contains__(holder, key):
            plain = [
                k
                for k in list(dict.keys(holder))[:MOST_NAMES]
                if type(k) in (str, int, float, bytes)
            ]
            details["keys"] = [repr(k)[:80] for k in plain]
            break
    return details


NAMED = re.compile(
    r"<([\w.]+)\.\w+ object|(?:bound method|function|generator object|coroutine object) ([\w.]+)"
)


def files_named(message: str, frames: Sequence[Frame], root: str) -> List[str]:
    """Return the files of the checkout that define the classes and functions in a message."""
    found: Dict[str, None] = {}
    for module, name in NAMED.findall(message)[:12]:
        values: List[Any] = [sys.modules.get(module)] if module else []
        values += (
            [frame.f_globals.get(name.split(".")[0]) for frame, _, _ in frames[-4:]] if name else []
        )
        for value in values:
            function = find_function(value)
            home = (
                sys.modules.get(str(peek(value, "__module__", ""))) if is_a(value, type) else value
            )
            file = function.__code__.co_filename if function is not None else peek(home, "__file__")
            if isinstance(file, str):
                found[relative(file, root)] = None
    return [path for path in found if not os.path.isabs(path)]
