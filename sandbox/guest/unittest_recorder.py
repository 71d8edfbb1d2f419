"""Records the real outcome of every unittest test, for a judge outside that trusts nothing inside.

The records are those of `pytest_reporter`, with pytest's node ids. `phases` and `ran` have the same
meaning: a passed report of a test whose method did not return was tampered with.
"""

import inspect
import os
import re
import time
import unittest
from typing import Any, Dict, List, Optional, Tuple

FRAME = re.compile(r'File "([^"\n]{1,400})", line (\d{1,7}), in (\S{1,100})')
EXCHANGED_TOLD = 5
TEARDOWNS = ("tearDownClass", "tearDownModule")


def watched_functions() -> Dict[str, Any]:
    """Return the functions that decide a verdict. There is no legitimate reason to replace them."""
    case, suite, result = (
        unittest.TestCase.__dict__,
        unittest.BaseTestSuite.__dict__,
        unittest.TestResult.__dict__,
    )
    found = {
        "TestCase." + name: case.get(name)
        for name in ("run", "__call__", "fail", "assertEqual", "assertTrue")
    }
    found.update({"TestSuite." + name: suite.get(name) for name in ("run", "__call__", "addTest")})
    found["TestSuite.run of suites"] = unittest.TestSuite.__dict__.get("run")
    found.update(
        {
            "TestResult." + name: result.get(name)
            for name in ("addFailure", "addError", "wasSuccessful")
        }
    )
    return found


class UnittestRecorder:
    """Receives the results of tests and sends records.

    Args:
        channel: Where records are written.
        describer: Converts failures to dictionaries.
        root: The checkout.
        limit: Limit of a test's processor time.
        guards: The guards of the session; None if no verdict is made.
    """

    def __init__(
        self, channel: Any, describer: Any, root: str, limit: Any, *, guards: Any = None
    ) -> None:
        self._guards = guards
        self._limit = limit
        self._send = channel.send
        self._describer = describer
        self._root = os.path.realpath(root)
        self._files: Dict[str, str] = {}
        self._clock = time.monotonic
        self._watched = watched_functions()
        self._codes: Dict[int, Any] = {}
        self._told: List[str] = []
        self._indexes: Dict[int, int] = {}
        self._tests: List[Any] = []
        self._reported: Dict[int, bool] = {}
        self._canary: Optional[int] = None
        self._canaries: Dict[int, int] = {}
        self._started = 0.0
        self._raw: Optional[int] = None
        self._letters: Dict[str, str] = {}
        self.current: Any = None

    # --- what there is ----------------------------------------------------------------------------

    def collected(self, tests: List[Any]) -> None:
        """Store the tests that will run, in order, before any of them does."""
        names: List[str] = []
        for test in tests:
            if is_broken(test):
                continue
            self._indexes[id(test)] = len(names)
            self._codes[id(test)] = find_code(test)
            self._tests.append(test)
            names.append(self.node_id(test))
            if self._guards is not None:
                file, _, inner = names[-1].partition("::")
                self._guards.remember(test, len(names) - 1, os.path.join(self._root, file), inner)
        self._send(["items", self._describer.pack_names(names)])

    def node_id(self, test: Any) -> str:
        """Return pytest's name of a test: `tests/test_m.py::Case::test_x`."""
        kind = type(test)
        if is_broken(test):
            return self._module_file(method_name(test))
        method = getattr(test, "_testMethodName", None)
        if method is None or not isinstance(test, unittest.TestCase):
            return str(test)[:300]
        if kind.__module__.startswith(("unittest.", "doctest")) or method == "runTest":
            return "%s::%s" % (self._module_file(kind.__module__), test.id())
        return "%s::%s::%s" % (
            self._module_file(kind.__module__),
            kind.__qualname__.replace(".", "::"),
            method,
        )

    def _module_file(self, module: str) -> str:
        """Return the file of a module, relative to the checkout."""
        import sys

        if module not in self._files:
            file = getattr(sys.modules.get(module), "__file__", None)
            guess = module.replace(".", os.sep) + ".py"
            places = (
                [str(file)] if file else [os.path.join(entry or ".", guess) for entry in sys.path]
            )
            real = next(
                (os.path.realpath(place) for place in places if os.path.isfile(place)), None
            )
            inside = real is not None and real.startswith(self._root + os.sep)
            self._files[module] = (
                os.path.relpath(real, self._root) if real is not None and inside else guess
            )
        return self._files[module]

    # --- one test ---------------------------------------------------------------------------------

    def start(self, test: Any) -> None:
        """Record the start of a test, and wrap its method."""
        if is_broken(test):
            self.current = None
            return
        self.current, self._letters, self._raw, self._started = test, {}, None, self._clock()
        self._canary = self._canaries.get(id(test))
        if self._canary is None:
            self._check_identity(test)
            self._send(["start", self.index(test)])
        self._wrap(test)

    def expect(self, test: Any, number: int) -> None:
        """Mark a test as a canary."""
        self._canaries[id(test)] = number

    def stop(self, test: Any) -> None:
        """Record the end of a test."""
        if is_broken(test):
            return
        name = getattr(test, "_testMethodName", None)
        if name is not None:
            test.__dict__.pop(name, None)
        if self._canary is not None:
            self._send(["canary", self._canary, self._phases(), self._raw])
        elif self.current is test:
            self._report(test, self._phases(), self._clock() - self._started)
        self.current = None

    def outcome(self, test: Any, letter: str, error: Any = None) -> None:
        """Record an outcome: p, f, s, x (expected failure) or u (unexpected success)."""
        if not isinstance(test, unittest.TestCase) or is_broken(test):
            self._record_group(test, letter, error)
            return
        phase = "call"
        if letter == "f":
            phase = "setup" if self._raw is None and error is not None else "call"
            if self._raw == 1 and error is not None and "call" not in self._letters:
                phase = "teardown"
        if self.current is not test:
            # The test was skipped before it began.
            self.current, self._letters, self._raw, self._started = test, {}, None, self._clock()
            self._canary = None
            self._letters[phase] = letter
            self.stop(test)
            return
        if self._letters.get(phase) != "f":
            self._letters[phase] = letter
        if letter == "f" and error is not None and self._canary is None:
            self._detail(self.index(test), phase, error)

    def part(self, test: Any, error: Any) -> None:
        """Record a failed subtest; an error of None means that it passed."""
        if error is not None:
            self._letters["call"] = "f"
            if self._canary is None:
                self._detail(self.index(test), "call", error)

    def finish(self, status: int) -> None:
        """Record the end of the session."""
        self.check_seals()
        self._send(["end", status, 0])

    def check_seals(self) -> None:
        """Report replaced functions at once, each name once."""
        self._report_changes(
            [
                name
                for name, function in watched_functions().items()
                if function is not self._watched[name]
            ]
        )
        if self._guards is not None:
            self._report_changes(
                self._guards.call_seals.broken() + self._guards.other_seals.broken()
            )

    def _report_changes(self, changed: List[str]) -> None:
        new = [name for name in changed if name not in self._told]
        if new and len(self._told) < EXCHANGED_TOLD:
            self._told += new
            self._send(["patched", new[:EXCHANGED_TOLD]])

    def _report(self, test: Any, phases: str, seconds: float) -> None:
        self._reported[id(test)] = True
        self._send(["test", self.index(test), phases, int(seconds * 1000)], held=True)

    def _phases(self) -> str:
        call = self._letters.get("call", "-")
        if self._letters.get("setup") == "f":
            return "f--"
        teardown = self._letters.get("teardown", "p")
        if call == "-" and teardown == "f":
            call = "p"
        return "p" + {"x": "x", "u": "f"}.get(call, call) + teardown

    def index(self, test: Any) -> Any:
        """Return the name of a test in records."""
        return self._indexes.get(id(test), self.node_id(test))

    def _detail(self, index: Any, phase: str, error: Tuple[Any, Any, Any]) -> None:
        described = self._limit.mark(
            self._describer.describe(ErrorReport(error), Excinfo(error[1]))
        )
        self._send(["fail", index, phase, described], detail=True, held=True)

    # --- what belongs to no single test -----------------------------------------------------------

    def _record_group(self, test: Any, letter: str, error: Any) -> None:
        """Record a module that failed to load, or a failed or skipped group set-up."""
        if is_broken(test):
            self._send(
                [
                    "collect",
                    self.node_id(test),
                    self._describe_load_error(getattr(test, "_exception", None)),
                ],
                detail=True,
            )
            return
        fixture, _, place = str(getattr(test, "description", test)).partition(" (")
        group = place.rstrip(")")
        members = [member for member in self._tests if belongs(member, group)]
        late = fixture in TEARDOWNS
        if letter == "f" and not members:
            self._send(
                [
                    "collect",
                    str(test)[:300],
                    self._describer.describe(ErrorReport(error), Excinfo(error[1])),
                ]
            )
        for member in members:
            done = self._reported.get(id(member), False)
            if late and member is not members[-1]:
                continue
            if done and not late:
                continue
            index = self.index(member)
            if letter == "f":
                self._detail(index, "teardown" if late else "setup", error)
            self._report(member, "s--" if letter == "s" else "ppf" if late else "f--", 0.0)

    def _describe_load_error(self, cause: Any) -> Dict[str, Any]:
        """Describe a loader error.

        Its traceback is text: the last line is the error, its frames are the module's.
        """
        detail: Dict[str, Any] = self._describer.describe(
            ErrorReport((type(cause), cause, None)), Excinfo(cause)
        )
        lines = str(cause).rstrip().splitlines() or [""]
        error, _, message = lines[-1].partition(": ")
        frames = []
        for file, line, function in FRAME.findall("\n".join(lines)):
            real = os.path.realpath(file)
            if real.startswith(self._root + os.sep) and "site-packages" not in real:
                frames.append([os.path.relpath(real, self._root), int(line), function])
        if message and error.replace(".", "").isidentifier():
            detail.update(error=error.rpartition(".")[2], message=message)
        if frames:
            detail["frames"] = frames[-40:]
        return detail

    # --- from below -------------------------------------------------------------------------------

    def _wrap(self, test: Any) -> None:
        name = getattr(test, "_testMethodName", None)
        method = getattr(test, name, None) if name is not None else None
        if self._guards is None or method is None or not hasattr(test, "__dict__"):
            return
        call = self._guards.witnessed(method, test, self._before, self._after)
        if call is not None:
            test.__dict__[name] = call

    def _before(self, test: Any, method: Any) -> None:
        self._raw = 0
        self._check_call(test, method)
        self._limit.__enter__()

    def _after(self, test: Any, method: Any, returned: int) -> None:
        self._limit.__exit__()
        self._check_call(test, method)
        self._raw = 0 if self._limit.stopped else returned
        self._guards.ended(test, self._raw)
        if returned:
            self._limit.insist()

    def _check_call(self, test: Any, method: Any) -> None:
        """Check before and after the call that the method is its file's and not traced."""
        self._guards.report_tracing()
        place = self._guards.find_place(test)
        if place is not None and self._guards.origins.differs(method, place[1], place[2]):
            self._report_changes(["%s was exchanged" % self.node_id(test)[:200]])

    def _check_identity(self, test: Any) -> None:
        if id(test) in self._codes:
            shadowed = method_name(test) in getattr(test, "__dict__", {})
            if shadowed or self._codes[id(test)] is not find_code(test):
                self._report_changes(["%s was exchanged" % self.node_id(test)[:200]])
        if self._guards is not None:
            self._report_changes(self._guards.call_seals.broken())


class ErrorReport:
    """A substitute for a pytest report."""

    def __init__(self, error: Tuple[Any, Any, Any]) -> None:
        import traceback

        self.longrepr = "".join(traceback.format_exception(*error))
        self.sections: List[Any] = []


class Excinfo:
    """A substitute for pytest's exception info."""

    def __init__(self, value: Any) -> None:
        self.value = value


def find_code(test: Any) -> Any:
    """Return the code object of a test's method."""
    method = getattr(type(test), method_name(test), None)
    try:
        return getattr(inspect.unwrap(method), "__code__", None) if method is not None else None
    except ValueError:
        return None


def method_name(test: Any) -> str:
    """Return the name of a test's method; for a module that failed to load, the module's."""
    return str(getattr(test, "_testMethodName", ""))


def is_broken(test: Any) -> bool:
    """Return True for the placeholder of a module that failed to load."""
    return type(test).__name__ == "_FailedTest" and type(test).__module__ == "unittest.loader"


def belongs(test: Any, group: str) -> bool:
    """Return True if a test belongs to the class or module `package.module.Class`."""
    kind = type(test)
    return group in (kind.__module__, "%s.%s" % (kind.__module__, kind.__qualname__))
