"""How each test may be run in the screen: called directly, set up without hooks, or with every hook of every plugin."""

from __future__ import annotations

import contextlib
import inspect
import os
import sys
import unittest
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

HOOKS, SETUP, DIRECT = "hooks", "setup", "direct"
RUNTEST_HOOKS = ("pytest_runtest_setup", "pytest_runtest_call", "pytest_runtest_teardown")
HARMLESS = (
    "_pytest.",
    "anyio.pytest_plugin",
    "pytest_asyncio.",
    "_hypothesis_pytestplugin",
    "_hypothesis_ftz_detector",
)
"""Modules whose hooks around a test do nothing to a plain one."""
HARMFUL = ("_pytest.pytester",)
NOSE_NAMES = ("setup", "teardown")
"""What older versions of pytest call around a test for nose's sake."""
NEED_HOOKS = ("caplog", "subtests", "pytester", "testdir", "benchmark")
"""Fixtures that live from what the hooks do."""
MARKS = ("skip", "skipif", "xfail", "filterwarnings", "anyio", "asyncio", "timeout", "flaky", "forked")
MUTABLE_PARAMETER = (list, dict, set, bytearray)


class Plan(NamedTuple):
    """How to run one test."""

    kind: str
    scoped: bool
    """It uses a fixture that outlives a test."""
    arguments: Tuple[str, ...] = ()
    """What the test function is called with; only without hooks."""
    values: Optional[Dict[str, Any]] = None
    """Their values, when they are known before anything is set up."""
    fresh: bool = False
    """Its class is made anew for each run."""
    calls: bool = False
    """The test function may be called as it is: nobody stands between."""


BY_HOOKS = Plan(HOOKS, scoped=True)


def plans_of(items: Sequence[Any], wanted: Sequence[int]) -> Dict[int, Plan]:
    """A plan for each of these tests."""
    judged: Dict[Any, bool] = {}
    return {index: _plan(items[index], judged) for index in wanted}


def _plan(item: Any, judged: Dict[Any, bool]) -> Plan:
    scoped = True
    try:
        scoped = _is_scoped(item)
        if not _is_plain(item, judged):
            return Plan(HOOKS, scoped)
        return _quick(item, scoped=scoped)
    except Exception:  # an unknown pytest, or an object that will not be asked
        return Plan(HOOKS, scoped)


def _quick(item: Any, *, scoped: bool) -> Plan:
    arguments = tuple(item._fixtureinfo.argnames)
    fresh = _class_of(item) is not None
    calls = not _of_unittest(item) and _from_known(item.ihook.pytest_pyfunc_call, HARMLESS)
    values = _direct_values(item, arguments)
    kind = DIRECT if values is not None and calls and not scoped and not _nodes_set_up(item) else SETUP
    return Plan(kind, scoped, arguments, values if kind == DIRECT else None, fresh, calls)


def _of_unittest(item: Any) -> bool:
    return (type(item).__module__, type(item).__name__) == ("_pytest.unittest", "TestCaseFunction")


def _class_of(item: Any) -> Optional[type]:
    found = getattr(item, "cls", None)
    return found if isinstance(found, type) else None


def _is_plain(item: Any, judged: Dict[Any, bool]) -> bool:
    """A function that nothing but pytest itself has a hand in."""
    if _of_unittest(item):
        if "twisted.trial.unittest" in sys.modules:
            return False
    elif (type(item).__module__, type(item).__name__) != ("_pytest.python", "Function"):
        return False
    function = item.function
    code = getattr(function, "__code__", None)
    if code is None or code.co_flags & (inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR | inspect.CO_GENERATOR):
        return False
    if getattr(item.obj, "is_hypothesis_test", False) or hasattr(item.obj, "__unittest_skip__"):
        return False
    if item.config.pluginmanager.has_plugin("nose") and _has_nose_names(item):
        return False
    if any(name in NEED_HOOKS for name in item.fixturenames) or any(mark.name in MARKS for mark in item.iter_markers()):
        return False
    if (
        item.config.getoption("trace", default=None)
        or item.config.getoption("log_level", default=None)
        or _ini(item, "log_level")
    ):
        return False
    folder = str(getattr(item, "path", None) or item.fspath)
    if folder not in judged:  # conftest files may bring hooks of their own, for their folder
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
    """Whether a fixture of it outlives it."""
    info = getattr(item, "_fixtureinfo", None)
    if info is None:
        return True
    definitions = [d for name in info.names_closure for d in (info.name2fixturedefs.get(name) or ())]
    return any(getattr(d, "scope", "?") != "function" for d in definitions if not _passive(d, item))


def _passive(definition: Any, item: Any) -> bool:
    """Fixtures of pytest itself that outlive a test without harm."""
    if not str(getattr(definition.func, "__module__", "")).startswith("_pytest."):
        return False
    name = str(getattr(definition, "argname", ""))
    if name in ("tmp_path_factory", "tmpdir_factory", "pytestconfig"):
        return True
    return "unittest_setUpClass" in name and all(
        getattr(getattr(item.cls, method), "__func__", None) is getattr(unittest.TestCase, method).__func__
        for method in ("setUpClass", "tearDownClass")
    )


def _direct_values(item: Any, arguments: Sequence[str]) -> Optional[Dict[str, Any]]:
    """The arguments when all fixtures a test asks for are parameters given to it directly."""
    names = list(item.fixturenames)
    callspec = getattr(item, "callspec", None)
    if callspec is None:
        return {} if not names else None
    given = dict(getattr(callspec, "params", {}))
    given.update(getattr(callspec, "funcargs", {}))  # pytest before 8
    if any(name not in given for name in names) or any(not _is_parameter(item, name) for name in names):
        return None
    return {name: given[name] for name in arguments}


def _is_parameter(item: Any, name: str) -> bool:
    """Whether a name is a parameter itself and not a fixture that is given one."""
    if name in getattr(item.callspec, "funcargs", {}):
        return True
    definitions = item._fixtureinfo.name2fixturedefs.get(name) or ()
    return all(
        getattr(d.func, "__name__", "") == "get_direct_param_fixture_func" and d.scope == "function"
        for d in definitions
    )


def _nodes_set_up(item: Any) -> bool:
    """Whether a collector above a test sets something up by itself."""
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
        return any(word in text for word in (b"setup", b"setUp", b"teardown", b"tearDown", b"import *"))
    return True


def mutable_parameters(items: Sequence[Any], plans: Dict[int, Plan]) -> List[Any]:
    """Parameters of tests that a candidate could change for those after it."""
    found: Dict[int, Any] = {}
    for index in plans:
        callspec = getattr(items[index], "callspec", None)
        for values in (getattr(callspec, "params", {}), getattr(callspec, "funcargs", {})):
            for value in values.values():
                if type(value) in (*MUTABLE_PARAMETER, tuple) or hasattr(value, "__dict__"):
                    found.setdefault(id(value), value)
    return list(found.values())
