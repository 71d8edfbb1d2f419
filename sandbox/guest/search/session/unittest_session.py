"""unittest tests as a session with pytest's interface, so that one harness runs both."""

from __future__ import annotations

import importlib
import inspect
import sys
import types
import unittest
import unittest.loader
import unittest.main
from typing import Any, Dict, Iterator, List, Optional, Tuple

from sandbox.guest.failure_detail import Describer
from sandbox.guest.search.process.limits import TimeLimitExceeded
from sandbox.guest.search.session.collected import (
    BrokenFile,
    Collected,
    Inside,
    NothingCollected,
    SuiteCommand,
)
from sandbox.guest.search.session.watch import get_watch
from sandbox.guest.unittest_entry import flat
from sandbox.guest.unittest_recorder import UnittestRecorder, is_broken, method_name


class Skipped(BaseException):
    """The test was skipped."""


class UnittestResult(unittest.TestResult):
    """Records the outcome of one test."""

    def __init__(self) -> None:
        super().__init__()
        self.error: Optional[BaseException] = None
        self.skipped_one = False

    def addError(self, test: Any, err: Any) -> None:
        """Record an error."""
        self.error = self.error or err[1]

    def addFailure(self, test: Any, err: Any) -> None:
        """Record a failure."""
        self.error = self.error or err[1]

    def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:
        """Record the failure of a subtest."""
        if err is not None:
            self.error = self.error or err[1]

    def addSkip(self, test: Any, reason: str) -> None:
        """Record a skip."""
        self.skipped_one = True

    def addExpectedFailure(self, test: Any, err: Any) -> None:
        """Ignore an expected failure, except a timeout."""
        if isinstance(err[1], TimeLimitExceeded):
            self.error = err[1]

    def addUnexpectedSuccess(self, test: Any) -> None:
        """Record an unexpected pass as a failure."""
        self.error = self.error or AssertionError("unexpected success")

    def raise_outcome(self) -> None:
        """Raise the recorded outcome."""
        error, self.error = self.error, None
        skipped, self.skipped_one = self.skipped_one, False
        if error is not None:
            raise error
        if skipped:
            raise Skipped


class UnittestHooks:
    """Sets up, calls and tears down an item like unittest's suite."""

    def __init__(self) -> None:
        self._suite: Any = unittest.TestSuite()
        self._result: Any = UnittestResult()

    def pytest_runtest_setup(self, item: Any) -> None:
        """Set up module and class fixtures; tear down those of the last test first."""
        test, result, suite = item.test, self._result, self._suite
        if test.__class__ is not getattr(result, "_previousTestClass", None):
            with get_watch(item.config).outliving():
                suite._tearDownPreviousClass(test, result)
                suite._handleModuleFixture(test, result)
                suite._handleClassSetUp(test, result)
        result._previousTestClass = test.__class__
        result.raise_outcome()

    def pytest_runtest_call(self, item: Any) -> None:
        """Run the test with its own set-up and tear-down."""
        item.renew()
        item.test(self._result)
        self._result.raise_outcome()

    def pytest_runtest_teardown(self, item: Any, nextitem: Any) -> None:
        """Tear down class and module fixtures if no test follows."""
        if nextitem is None:
            self.teardown_exact()
            self._result.raise_outcome()

    def teardown_exact(self, *_: Any) -> None:
        """Tear down the class and the module of the last test."""
        result, suite = self._result, self._suite
        suite._tearDownPreviousClass(None, result)
        suite._handleModuleTearDown(result)
        result._previousTestClass = None


class Plugins:
    """The part of a plugin manager that the harness uses."""

    def __init__(self) -> None:
        self._known: Dict[str, Any] = {}

    def get_plugin(self, name: str) -> Any:
        """Return a registered plugin, or None."""
        return self._known.get(name)

    def register(self, plugin: Any, name: str) -> None:
        """Register a plugin."""
        self._known[name] = plugin


class Item:
    """One test with the interface of a pytest item."""

    cls = None
    own_markers: Tuple[Any, ...] = ()

    def __init__(self, test: Any, nodeid: str, session: Any) -> None:
        self.test = test
        self._state = dict(vars(test))
        self.nodeid = nodeid
        self.name = method_name(test)
        self.session = session
        self.config = session.config
        self.parent = session
        self.ihook = session.hooks
        self.fspath = self.path = nodeid.split("::", maxsplit=1)[0]
        self.function = inspect.unwrap(getattr(type(test), self.name, self._nothing))

    @staticmethod
    def _nothing() -> None:
        """Replace the function of a test that has none."""

    def renew(self) -> None:
        """Reset the test instance, because unittest runs each instance only once."""
        state = vars(self.test)
        state.clear()
        state.update(self._state)

    def iter_markers(self, name: str = "") -> Iterator[Any]:
        """Yield the mark of an expected failure."""
        expected = getattr(self.test, "__unittest_expecting_failure__", False) or getattr(
            getattr(self.test, self.name, None), "__unittest_expecting_failure__", False
        )
        return iter([name] if name == "xfail" and expected else [])

    def get_closest_marker(self, _name: str) -> None:
        """Return None: there are no pytest markers."""
        return


def collect_unittest(command: SuiteCommand, inside: Inside) -> Tuple[BrokenFile, ...]:
    """Run the command's own discovery; see `collecting.collect`."""
    reached: List[Any] = []

    class Taking:
        """Records the suite and does not run it."""

        def __init__(self, *_: Any, **__: Any) -> None:
            pass

        def run(self, suite: Any) -> Any:
            reached.append(suite)
            return unittest.TestResult()

    try:
        unittest.main(module=None, argv=list(sys.argv), testRunner=Taking, exit=False)
    except SystemExit as error:
        if not reached:
            return (BrokenFile("", NothingCollected(f"unittest exited with {error}")),)
    except Exception as error:
        return (BrokenFile("", error),)
    if not reached:
        return (BrokenFile("", NothingCollected("the tests could not be collected")),)
    inside(_collected(command, reached[0]))
    return ()


def _collected(command: SuiteCommand, suite: Any) -> Collected:
    channel = types.SimpleNamespace(send=lambda *_, **__: True)
    names: Any = UnittestRecorder(channel, Describer(command.root), command.root, None)
    hooks = UnittestHooks()
    config = types.SimpleNamespace(rootpath=command.root, pluginmanager=Plugins())
    session = types.SimpleNamespace(config=config, hooks=hooks, _setupstate=hooks, items=[])
    broken: List[BrokenFile] = []
    for test in flat(suite):
        name = names.node_id(test)
        if is_broken(test):
            broken.append(BrokenFile(name, _why(test)))
        elif isinstance(test, unittest.TestCase):
            session.items.append(Item(test, name, session))
    return Collected(session, tuple(broken))


def _why(test: Any) -> BaseException:
    """Return the error of a broken module by a new import; the loader keeps only text."""
    try:
        importlib.import_module(method_name(test))
    except BaseException as error:
        return error
    return getattr(test, "_exception", None) or ImportError(method_name(test))
