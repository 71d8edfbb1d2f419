"""Functions in failures: called wrongly, or named by an assertion but not called."""

from __future__ import annotations

import ast
import os
import re
import sys
import types
from typing import Any, Dict, List, Optional, Tuple

from sandbox.guest.search.process.peek import is_a
from sandbox.guest.search.session.failures.frames import Frame, nodes_at, relative
from sandbox.guest.search.session.failures.inert import classes, find_function, resolve, static
from sandbox.guest.search.session.failures.owners import describe_owner

IS_ABSTRACT = 1 << 20
"""The flag of a type that still has abstract methods."""


def call_details(message: str, last: Frame, root: str) -> Dict[str, Any]:
    """Return the signature of a function that refused a call, or the abstract class."""
    abstract = re.match(r"Can't instantiate abstract class (\w+)", message)
    if abstract:
        named = [
            t for t in classes() if t.__flags__ & IS_ABSTRACT and t.__name__ == abstract.group(1)
        ]
        owners = [describe_owner(t, root) for t in named]
        owners.sort(key=lambda owner: not owner["file"] or os.path.isabs(owner["file"]))
        return {"owner": owners[0]} if owners else {}
    found = re.match(r"([\w.<>]+)\(\) (?:got|missing|takes|argument)", message)
    if not found:
        return {}
    name = found.group(1)
    target = None
    for node in nodes_at(last):
        if isinstance(node, ast.Call):
            value = find_function(resolve(node.func, last[0]))
            if value is not None and _is_called(value, name):
                target = value
                break
    if target is None:
        target = _by_qualified_name(name)
    return {"callee": _signature(target, root)} if target is not None else {}


def _is_called(function: types.FunctionType, name: str) -> bool:
    return function.__qualname__ == name or function.__name__ == name.rpartition(".")[2]


def _by_qualified_name(name: str) -> Optional[types.FunctionType]:
    """Return the loaded function of this name; None if there are several."""
    owner, _, last = name.rpartition(".")
    values = [
        static(one, last)
        for one in classes()
        if not owner or one.__name__ == owner.rpartition(".")[2]
    ]
    if not owner:
        modules = [sys.modules[key] for key in sorted(sys.modules)]
        values += [vars(m).get(last) for m in modules if type(m) is types.ModuleType]
    found: Dict[Tuple[str, int], types.FunctionType] = {}
    for value in values:
        function = find_function(value) if not is_a(value, type) else None
        if function is not None and _is_called(function, name):
            found[function.__code__.co_filename, function.__code__.co_firstlineno] = function
    return next(iter(found.values())) if len(found) == 1 else None


def _signature(function: types.FunctionType, root: str) -> Dict[str, Any]:
    code = function.__code__
    plain = list(code.co_varnames[: code.co_argcount])
    only = list(code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount])
    defaults = len(function.__defaults__ or ())
    return {
        "name": function.__name__,
        "qualname": function.__qualname__,
        "parameters": plain,
        "keyword_only": only,
        "required": plain[: len(plain) - defaults],
        "varargs": bool(code.co_flags & 4),
        "kwargs": bool(code.co_flags & 8),
        "file": relative(code.co_filename, root),
        "line": code.co_firstlineno,
        "module": str(function.__module__),
    }


def uncalled(last: Frame, root: str) -> List[Dict[str, Any]]:
    """Return functions of the checkout that a failed assertion names without calling them."""
    nodes = nodes_at(last)
    called = {node.func for node in nodes if isinstance(node, ast.Call)}
    named = [n for n in nodes if isinstance(n, ast.Attribute) and n not in called]
    values = [resolve(node, last[0]) for node in named]
    told = [_signature(value, root) for value in values if is_a(value, types.FunctionType)]
    return [function for function in told if not os.path.isabs(function["file"])][:4]
