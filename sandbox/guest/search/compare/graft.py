"""Put an edited file into its loaded modules: for comparison only, never to judge by tests."""

from __future__ import annotations

import gc
import os
import sys
import types
from typing import Any, Dict, Iterable, List

from sandbox.guest.search.process.peek import is_a, peek
from sandbox.guest.search.source.functions import text_bounds

KEPT = (
    "__name__",
    "__file__",
    "__package__",
    "__spec__",
    "__loader__",
    "__path__",
    "__cached__",
    "__builtins__",
)


def graft(filename: str, data: bytes) -> bool:
    """Update functions, classes and values of loaded modules from the edited file."""
    found = False
    for module in list(sys.modules.values()):
        own = peek(module, "__file__")
        if isinstance(own, str) and os.path.realpath(own) == filename:
            found = _graft_into(module, compile(data, filename, "exec", dont_inherit=True)) or found
    return found


def _graft_into(module: types.ModuleType, code: types.CodeType) -> bool:
    new = {name: value for name, value in vars(module).items() if name in KEPT}
    exec(code, new)
    _functions(vars(module), new)
    for name, value in new.items():
        old = vars(module).get(name)
        if name in KEPT or (is_a(value, types.FunctionType) and is_a(old, types.FunctionType)):
            continue
        if is_a(value, type) and is_a(old, type):
            _attributes(old, value)
        else:
            _bind(module, name, old, value)
    return True


def _functions(old: Dict[str, Any], new: Dict[str, Any]) -> None:
    """Update functions in place, so that all references to them see the new code."""
    # The garbage collector does not list frozen objects.
    gc.unfreeze()
    functions = [thing for thing in gc.get_objects() if type(thing) is types.FunctionType]
    edited = _rows(f for f in functions if f.__globals__ is new)
    for name, row in _rows(f for f in functions if f.__globals__ is old).items():
        twins = edited.get(name, [])
        for same, others in zip(row, twins) if len(row) == len(twins) else ():
            for function in same:
                _turn_into(function, others[0])


def _rows(functions: Iterable[types.FunctionType]) -> Dict[str, List[List[types.FunctionType]]]:
    """Return functions by qualified name, grouped by position, in source order.

    The functions of a property share one name, and so do all lambdas of a module.
    """
    rows: Dict[str, Dict[Any, List[types.FunctionType]]] = {}
    for function in functions:
        code = function.__code__
        place = (code.co_firstlineno, text_bounds(code))
        rows.setdefault(function.__qualname__, {}).setdefault(place, []).append(function)
    return {name: [row[place] for place in sorted(row)] for name, row in rows.items()}


def _turn_into(function: types.FunctionType, twin: types.FunctionType) -> None:
    if twin.__code__.co_freevars != function.__code__.co_freevars:
        return
    function.__code__ = twin.__code__
    function.__defaults__ = twin.__defaults__
    function.__kwdefaults__ = twin.__kwdefaults__


def _attributes(old: type, new: type) -> None:
    for name, value in list(vars(new).items()):
        before = vars(old).get(name)
        both = is_a(value, types.FunctionType) and is_a(before, types.FunctionType)
        if both or name in ("__dict__", "__weakref__", "__module__", "__doc__", "__qualname__"):
            continue
        try:
            setattr(old, name, value)
        except (AttributeError, TypeError):
            continue


def _bind(module: types.ModuleType, name: str, old: Any, value: Any) -> None:
    """Bind a name in its module and in all modules that have imported it from there."""
    setattr(module, name, value)
    for other in list(sys.modules.values()):
        values = peek(other, "__dict__")
        if isinstance(values, dict) and name in values and values[name] is old and old is not None:
            values[name] = value
