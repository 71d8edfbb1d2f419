"""Control tests in the modules of the real ones: one that must pass and one that must fail.

They are created like their neighbours: compiled with the module's rewriting, in its file and with
its names, and found by the collector. An empty set of fixtures keeps the project's fixtures out.
"""

import ast
import os
import types
import unittest
from typing import Any, Dict, Iterator, List, Tuple

import pytest
from _pytest.assertion import rewrite
from _pytest.fixtures import FuncFixtureInfo

FOLDERS = 8
_TEXTS = (
    "def {name}({self}):\n    total = sum((1, 2))\n    assert total == 3\n",
    "def {name}({self}):\n    total = sum((1, 2))\n    assert total == 4\n",
)
_CASE = (
    "def {name}(self):\n    self.assertEqual(sum((1, 2)), 3)\n",
    "def {name}(self):\n    self.assertEqual(sum((1, 2)), 4)\n",
)
_UNCHANGED = object()
# Marks that change how a test ends.
_CHANGING = frozenset({"skip", "skipif", "xfail"})


def beside(session: Any) -> List[Any]:
    """Return one test of every kind (function, method, unittest's) for each of the first folders.

    Return the session itself if no test can have a canary beside it: all are examples in documents,
    or have marks that change how a test ends.
    """
    chosen: Dict[Tuple[str, str], Any] = {}
    folders: List[str] = []
    for item in session.items:
        if not isinstance(item, pytest.Function) or item.getparent(pytest.Module) is None:
            continue
        # A canary has the marks of the module and the class.
        parent: Any = item.parent
        if any(mark.name in _CHANGING for mark in parent.iter_markers()):
            continue
        folder = os.path.dirname(item.nodeid.split("::")[0])
        if folder not in folders:
            if len(folders) >= FOLDERS:
                continue
            folders.append(folder)
        chosen.setdefault((folder, _kind(item)), item)
    return list(chosen.values()) or [session]


def _kind(item: Any) -> str:
    if item.cls is None:
        return "function"
    return "case" if _unittest_class(item) is not None else "method"


def _unittest_class(item: Any) -> Any:
    """Return the class of a unittest test."""
    kind = getattr(item, "cls", None)
    return kind if isinstance(kind, type) and issubclass(kind, unittest.TestCase) else None


def collected(item: Any, number: int, name: str) -> Iterator[Any]:
    """Yield the canary to run beside a test, collected in the same way.

    Its name is restored afterwards.
    """
    if isinstance(item, pytest.Session):
        tree = ast.parse(_TEXTS[number].format(name=name, self=""))
        made = types.FunctionType(_code(tree, __file__, name), {"sum": sum}, name)
        yield pytest.Function.from_parent(item, name=name, callobj=made, fixtureinfo=_no_fixtures())
        return
    module = item.getparent(pytest.Module).obj
    case = _unittest_class(item)
    function = _function(item, module, number, name)
    owner, attribute, value, parent = item.cls or module, name, function, item.parent
    if case is not None:
        # A separate class, because the set-up of the project's class is for its own tests.
        attribute = "Test" + "".join(word.title() for word in name.split("_"))
        owner, parent = module, item.getparent(pytest.Module)
        value = type(
            attribute, (unittest.TestCase,), {"__module__": module.__name__, name: function}
        )
    before = vars(owner).get(attribute, _UNCHANGED)
    setattr(owner, attribute, value)
    try:
        yield _collect_item(parent, attribute, getattr(owner, attribute), type(item))
    finally:
        if before is _UNCHANGED:
            delattr(owner, attribute)
        else:
            setattr(owner, attribute, before)


def _collect_item(parent: Any, name: str, value: Any, kind: Any) -> Any:
    """Request a test from the collector by name, or create one of the neighbours' class."""
    try:
        found = _first(
            parent.ihook.pytest_pycollect_makeitem(collector=parent, name=name, obj=value)
        )
    except pytest.fail.Exception:
        # The class's marks may have parameters that a canary does not take.
        found = None
    if not isinstance(found, pytest.Function):
        if isinstance(value, type):
            raise TypeError("the collector does not see unittest's classes")
        found = kind.from_parent(parent, name=name)
    bare = _no_fixtures()
    found._fixtureinfo, found.fixturenames = bare, bare.names_closure
    found._initrequest()
    return found


def _no_fixtures() -> Any:
    return FuncFixtureInfo(argnames=(), initialnames=(), names_closure=[], name2fixturedefs={})


def _first(found: Any) -> Any:
    """Return the first test of the collector's result: a test, a class or several."""
    while found is not None and not isinstance(found, pytest.Item):
        members = found.collect() if isinstance(found, pytest.Collector) else found
        found = next(iter(members), None)
    return found


def _function(item: Any, module: Any, number: int, name: str) -> Any:
    """Compile a canary like its module, a little below the neighbouring test."""
    in_class = item.cls is not None
    texts = _TEXTS if _unittest_class(item) is None else _CASE
    source = texts[number].format(name=name, self="self" if in_class else "")
    path = str(module.__file__)
    tree = ast.parse(source)
    if "@pytest_ar" in vars(module):
        rewrite.rewrite_asserts(tree, source.encode(), path, item.config)
    # Near the neighbour's line, so that the canary cannot be recognised by its own.
    ast.increment_lineno(tree, max(0, (item.reportinfo()[1] or 0) + 1))
    function = types.FunctionType(_code(tree, path, name), vars(module), name)
    function.__module__ = module.__name__
    function.__qualname__ = "%s.%s" % (item.cls.__name__, name) if in_class else name
    return function


def _code(tree: ast.Module, path: str, name: str) -> Any:
    """Compile a module that defines one function, and return the function's code."""
    constants = compile(tree, path, "exec", dont_inherit=True).co_consts
    return next(
        part for part in constants if isinstance(part, types.CodeType) and part.co_name == name
    )
