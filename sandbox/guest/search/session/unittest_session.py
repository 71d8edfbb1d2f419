"""unittest's tests as a session that looks like pytest's, so that one harness runs both."""

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
from sandbox.guest.search.process.limits import TimeUp
from sandbox.guest.search.session.collected import Broken, Collected, Command, Inside, NothingCollected
from sandbox.guest.search.session.watch import watch_of
from sandbox.guest.unittest_entry import flat
from sandbox.guest.unittest_recorder import Recorder, is_broken, method_name


class Skipped(BaseException):
    """The test left itself out."""


class Result(unittest.TestResult):
    """Keeps what one test told."""

    def __init__(self) -> None:
        super().__init__()
        self.error: Optional[BaseException] = None
        self.skipped_one = False

    def addError(self, test: Any, err: Any) -> None:
        """It raised."""
        self.error = self.error or err[1]

    def addFailure(self, test: Any, err: Any) -> None:
        """It failed."""
        self.error = self.error or err[1]

    def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:
        """A part of it is over."""
        if err is not None:
            self.error = self.error or err[1]

    def addSkip(self, test: Any, reason: str) -> None:
        """It was left out."""
        self.skipped_one = True

    def addExpectedFailure(self, test: Any, err: Any) -> None:
        """It failed as it should; only running out of time is told."""
        if isinstance(err[1], TimeUp):
            self.error = err[1]

    def addUnexpectedSuccess(self, test: Any) -> None:
        """It passed and should not."""
        self.error = self.error or AssertionError("unexpected success")

    def judged(self) -> None:
        """Raise what the test would have raised."""
        error, self.error = self.error, None
        skipped, self.skipped_one = self.skipped_one, False
        if error is not None:
            raise error
        if skipped:
            raise Skipped


class Hooks:
    """Sets up, calls and tears down one item as unittest's suite does."""

    def __init__(self) -> None:
        self._suite: Any = unittest.TestSuite()
        self._result: Any = Result()

    def pytest_runtest_setup(self, item: Any) -> None:
        """Module and class fixtures; those of the last test's class and module are torn down first."""
        test, result, suite = item.test, self._result, self._suite
        if test.__class__ is not getattr(result, "_previousTestClass", None):
            with watch_of(item.config).outliving():
                suite._tearDownPreviousClass(test, result)
                suite._handleModuleFixture(test, result)
                suite._handleClassSetUp(test, result)
        result._previousTestClass = test.__class__
        result.judged()

    def pytest_runtest_call(self, item: Any) -> None:
        """The test with its own set-up and tear-down."""
        item.renew()
        item.test(self._result)
        self._result.judged()

    def pytest_runtest_teardown(self, item: Any, nextitem: Any) -> None:
        """What outlives a test is torn down when nothing follows."""
        if nextitem is None:
            self.teardown_exact()
            self._result.judged()

    def teardown_exact(self, *_: Any) -> None:
        """Tear down the class and the module of the last test."""
        result, suite = self._result, self._suite
        suite._tearDownPreviousClass(None, result)
        suite._handleModuleTearDown(result)
        result._previousTestClass = None


class Plugins:
    """As much of a plugin manager as the harness asks for."""

    def __init__(self) -> None:
        self._known: Dict[str, Any] = {}

    def get_plugin(self, name: str) -> Any:
        """A registered plugin."""
        return self._known.get(name)

    def register(self, plugin: Any, name: str) -> None:
        """Remember a plugin."""
        self._known[name] = plugin


class Item:
    """One test."""

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
        """Stands for the function of a test that is none."""

    def renew(self) -> None:
        """The test's instance as it was made: unittest runs each once only."""
        state = vars(self.test)
        state.clear()
        state.update(self._state)

    def iter_markers(self, name: str = "") -> Iterator[Any]:
        """A test that is expected to fail is marked as pytest marks it."""
        expected = getattr(self.test, "__unittest_expecting_failure__", False) or getattr(
            getattr(self.test, self.name, None), "__unittest_expecting_failure__", False
        )
        return iter([name] if name == "xfail" and expected else [])

    def get_closest_marker(self, _name: str) -> None:
        """It has no markers of pytest."""
        return


def collect_unittest(command: Command, inside: Inside) -> Tuple[Broken, ...]:
    """Let the command's own discovery run; see `collecting.collect`."""
    reached: List[Any] = []

    class Taking:
        """Takes the suite instead of running it."""

        def __init__(self, *_: Any, **__: Any) -> None:
            pass

        def run(self, suite: Any) -> Any:
            reached.append(suite)
            return unittest.TestResult()

    try:
        unittest.main(module=None, argv=list(sys.argv), testRunner=Taking, exit=False)
    except SystemExit as error:
        if not reached:
            return (Broken("", NothingCollected(f"unittest left with {error}")),)
    except Exception as error:
        return (Broken("", error),)
    if not reached:
        return (Broken("", NothingCollected("the tests could not be collected")),)
    inside(_collected(command, reached[0]))
    return ()


def _collected(command: Command, suite: Any) -> Collected:
    channel = types.SimpleNamespace(send=lambda *_, **__: True)
    names: Any = Recorder(channel, Describer(command.root), command.root, None)
    hooks = Hooks()
    config = types.SimpleNamespace(rootpath=command.root, pluginmanager=Plugins())
    session = types.SimpleNamespace(config=config, hooks=hooks, _setupstate=hooks, items=[])
    broken: List[Broken] = []
    for test in flat(suite):
        name = names.node_id(test)
        if is_broken(test):
            broken.append(Broken(name, _why(test)))
        elif isinstance(test, unittest.TestCase):
            session.items.append(Item(test, name, session))
    return Collected(session, tuple(broken))


def _why(test: Any) -> BaseException:
    """The loader keeps the traceback as text only: import the module once more for the exception itself."""
    try:
        importlib.import_module(method_name(test))
    except BaseException as error:
        return error
    return getattr(test, "_exception", None) or ImportError(method_name(test))
