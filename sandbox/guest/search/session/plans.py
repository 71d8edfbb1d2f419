"""Plans for running a test in the screen: direct call, set-up without hooks, or all hooks."""

from __future__ import annotations

import contextlib
import inspect
import os
import sys
import unittest
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

from sandbox.guest.search.process.peek import peek
from sandbox.guest.search.session.watch import outlives

HOOKS, SETUP, DIRECT = "hooks", "setup", "direct"
RUNTEST_HOOKS = ("pytest_runtest_setup", "pytest_runtest_call", "pytest_runtest_teardown")
HARMLESS = (
    "_pytest.",
    "anyio.pytest_plugin",
    "pytest_asyncio.",
    "_hypothesis_pytestplugin",
    "_hypothesis_ftz_detector",
)
"""Modules whose hooks do not affect a plain test."""
HARMFUL = ("_pytest.pytester",)
NOSE_NAMES = ("setup", "teardown")
"""Methods that older versions of pytest call around a test for nose compatibility."""
NEED_HOOKS = ("caplog", "subtests", "pytester", "testdir", "benchmark")
"""Fixtures that depend on the hooks."""
MARKS = (
    "skip",
    "skipif",
    "xfail",
    "filterwarnings",
    "anyio",
    "asyncio",
    "timeout",
    "flaky",
    "forked",
)
MUTABLE_PARAMETER = (list, dict, set, bytearray)


class ItemPlan(NamedTuple):
    """The way to run one test."""

    kind: str
    scoped: bool
    """True if it uses a fixture that outlives a test."""
    arguments: Tuple[str, ...] = ()
    """Names of the test function's arguments; unused with hooks."""
    values: Optional[Dict[str, Any]] = None
    """Their values, if they are known without any set-up."""
    fresh: bool = False
    """True if its class is instantiated for each run."""
    calls: bool = False
    """True if the test function may be called directly, because no plugin wraps the call."""


BY_HOOKS = ItemPlan(HOOKS, scoped=True)


def make_plans(items: Sequence[Any], wanted: Sequence[int]) -> Dict[int, ItemPlan]:
    """Return a plan for each of these tests."""
    judged: Dict[Any, bool] = {}
    return {index: _plan(items[index], judged) for index in wanted}


def _plan(item: Any, judged: Dict[Any, bool]) -> ItemPlan:
    scoped = True
    try:
        scoped = _is_scoped(item)
        if not _is_plain(item, judged):
            return ItemPlan(HOOKS, scoped)
        return _quick(item, scoped=scoped)
    except Exception:  # an unknown version of pytest, or an object that raises on access
        return ItemPlan(HOOKS, scoped)


def _quick(item: Any, *, scoped: bool) -> ItemPlan:
    arguments = tuple(item._fixtureinfo.argnames)
    fresh = _find_class(item) is not None
    calls = not _of_unittest(item) and _from_known(item.ihook.pytest_pyfunc_call, HARMLESS)
    values = _direct_values(item, arguments)
    kind = (
        DIRECT if values is not None and calls and not scoped and not _nodes_set_up(item) else SETUP
    )
    return ItemPlan(kind, scoped, arguments, values if kind == DIRECT else None, fresh, calls)


def _of_unittest(item: Any) -> bool:
    return (type(item).__module__, type(item).__name__) == ("_pytest.unittest", "TestCaseFunction")


def _find_class(item: Any) -> Optional[type]:
    found = getattr(item, "cls", None)
    return found if isinstance(found, type) else None


def _is_plain(item: Any, judged: Dict[Any, bool]) -> bool:
    """Return True for a test function that only pytest itself handles."""
    if _of_unittest(item):
        if "twisted.trial.unittest" in sys.modules:
            return False
    elif (type(item).__module__, type(item).__name__) != ("_pytest.python", "Function"):
        return False
    function = item.function
    code = getattr(function, "__code__", None)
    if code is None or code.co_flags & (
        inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR | inspect.CO_GENERATOR
    ):
        return False
    if getattr(item.obj, "is_hypothesis_test", False) or hasattr(item.obj, "__unittest_skip__"):
        return False
    if item.config.pluginmanager.has_plugin("nose") and _has_nose_names(item):
        return False
    if any(name in NEED_HOOKS for name in item.fixturenames) or any(
        mark.name in MARKS for mark in item.iter_markers()
    ):
        return False
    if (
        item.config.getoption("trace", default=None)
        or item.config.getoption("log_level", default=None)
        or _ini(item, "log_level")
    ):
        return False
    folder = str(getattr(item, "path", None) or item.fspath)
    if folder not in judged:  # conftest files may define hooks for their folder
        hooks = [getattr(item.ihook, name) for name in RUNTEST_HOOKS]
        judged[folder] = all(_from_known(hook, HARMLESS) for hook in hooks)
    return judged[folder]


def _has_nose_names(item: Any) -> bool:
    return any(hasattr(thing, name) for thing in (item.obj, item.parent.obj) for name in NOSE_NAMES)


def _ini(item: Any, name: str) -> Any:
    with contextlib.suppress(Exception):
        return item.config.getini(name)
    return None


def _from_known(hook: Any, known: Sequence[str]) -> bool:
    for implementation in hook.get_hookimpls():
        module = str(getattr(implementation.function, "__module__", ""))
        if module.startswith(HARMFUL) or not module.startswith(tuple(known)):
            return False
    return True


def _is_scoped(item: Any) -> bool:
    """Return True if a test uses a fixture that outlives it."""
    info = getattr(item, "_fixtureinfo", None)
    if info is None:
        return True
    definitions = [
        d for name in info.names_closure for d in (info.name2fixturedefs.get(name) or ())
    ]
    return any(outlives(d, item) for d in definitions if not _passive(d, item))


def _passive(definition: Any, item: Any) -> bool:
    """Return True for pytest's own fixtures that outlive a test without effect."""
    if not str(getattr(definition.func, "__module__", "")).startswith("_pytest."):
        return False
    name = str(getattr(definition, "argname", ""))
    if name in ("tmp_path_factory", "tmpdir_factory", "pytestconfig"):
        return True
    return "unittest_setUpClass" in name and all(
        getattr(getattr(item.cls, method), "__func__", None)
        is getattr(unittest.TestCase, method).__func__
        for method in ("setUpClass", "tearDownClass")
    )


def _direct_values(item: Any, arguments: Sequence[str]) -> Optional[Dict[str, Any]]:
    """Return the arguments of a test whose fixtures are all direct parameters, else None."""
    names = list(item.fixturenames)
    callspec = getattr(item, "callspec", None)
    if callspec is None:
        return {} if not names else None
    given = dict(getattr(callspec, "params", {}))
    given.update(getattr(callspec, "funcargs", {}))  # pytest before 8
    if any(name not in given for name in names) or any(
        not _is_parameter(item, name) for name in names
    ):
        return None
    return {name: given[name] for name in arguments}


def _is_parameter(item: Any, name: str) -> bool:
    """Return True if a name is a direct parameter and not a fixture that takes one."""
    if name in getattr(item.callspec, "funcargs", {}):
        return True
    definitions = item._fixtureinfo.name2fixturedefs.get(name) or ()
    return all(
        getattr(d.func, "__name__", "") == "get_direct_param_fixture_func" and d.scope == "function"
        for d in definitions
    )


def _nodes_set_up(item: Any) -> bool:
    """Return True if a collector above a test has a set-up."""
    return any(_sets_up(node) for node in item.listchain()[:-1])


def _sets_up(node: Any) -> bool:
    method: Callable[..., Any] = type(node).setup
    if method.__qualname__.startswith(("Node.", "Item.", "Collector.")):
        return False
    if method.__qualname__.startswith("Package."):
        return _package_sets_up(node)
    return True


def _package_sets_up(node: Any) -> bool:
    path = str(getattr(node, "path", None) or node.fspath)
    path = path if path.endswith("__init__.py") else os.path.join(path, "__init__.py")
    with contextlib.suppress(OSError), open(path, "rb") as file:
        text = file.read()
        return any(
            word in text for word in (b"setup", b"setUp", b"teardown", b"tearDown", b"import *")
        )
    return True


def mutable_parameters(items: Sequence[Any], plans: Dict[int, ItemPlan]) -> List[Any]:
    """Return the parameters that a candidate could change for later tests."""
    found: Dict[int, Any] = {}
    for index in plans:
        callspec = getattr(items[index], "callspec", None)
        for values in (getattr(callspec, "params", {}), getattr(callspec, "funcargs", {})):
            for value in values.values():
                if (
                    type(value) in (*MUTABLE_PARAMETER, tuple)
                    or peek(value, "__dict__") is not None
                ):
                    found.setdefault(id(value), value)
    return list(found.values())
