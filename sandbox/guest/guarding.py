"""Set up the guards of a test session, for pytest and unittest."""

import gc
import sys
from typing import Any, Callable, FrozenSet, List, Set

# Attributes that projects override legitimately and that decide nothing.
OPEN_NAMES = frozenset({
    "shortDescription", "id", "countTestCases", "setUp", "tearDown", "setUpClass", "tearDownClass",
    "doClassCleanups",
    "__str__", "__repr__", "__doc__", "__hash__", "_repr_failure_py", "repr_failure", "reportinfo",
    "_traceback_filter",
})  # fmt: skip
DECIDING_BUILTINS = (
    "compile", "exec", "getattr", "hasattr", "isinstance", "issubclass", "len", "setattr", "type",
    "AssertionError",
    "BaseException", "Exception", "__build_class__",
)  # fmt: skip


class Guards:
    """All guards of one session.

    Args:
        channel: Where records are written.
        callers: The places that may write to the channel; our own functions are added.
        compiled: The compiled code of files.
        load: Loads a sibling module by name.
    """

    def __init__(
        self, channel: Any, callers: Set[Any], compiled: Any, load: Callable[[str], Any]
    ) -> None:
        harden = load("hardened").harden_function
        self.compiled = compiled
        self._report = channel.report
        self._gettrace, self._getprofile = sys.gettrace, sys.getprofile
        self._callers = callers
        self._load = load
        witness = load("call_witness")
        self.witnessed = witness.wrap_witness
        self.remember, self.find_place, self.ended = self._admit(
            witness.ledger(channel.send, harden)
        )
        self._hard = [
            channel.send,
            channel.report,
            channel.close,
            self.remember,
            self.find_place,
            self.ended,
        ]
        self._witness = witness
        self.watch = load("tamper_watch").TamperWatch(channel.report, harden, compiled.is_installed)
        self.origins = load("identity").Origins(compiled)
        self.call_seals: Any = None
        self.other_seals: Any = None
        self.arm: Callable[[], None] = lambda: None

    def _admit(self, functions: Any) -> Any:
        """Allow hardened functions to write."""
        place = self._load("record_channel").place
        self._callers.update(
            place(function.__code__, function.__globals__) for function in functions
        )
        return functions

    def report_tracing(self) -> None:
        """Report an active trace or profile function of the repository."""
        if self.watch.is_foreign_tool(self._gettrace()) or self.watch.is_foreign_tool(
            self._getprofile()
        ):
            self._report("traced", "a function of the repository")

    def begin(self, judging: List[Any], compiling: List[Any], own: List[Any]) -> None:
        """Seal the modules and start the watch.

        Args:
            judging: The modules that run tests; they are checked before each test.
            compiling: The modules that compile test files.
            own: Our modules.
        """
        names = self._load("record_channel").places
        for module in own:
            self._callers.update(names(vars(module)))
        seal = self._load("seals").Seals
        allowed = self.compiled.is_plugin
        self.call_seals = seal(
            [*judging, *own, self._witness], OPEN_NAMES, DECIDING_BUILTINS, allowed
        )
        self.other_seals = seal(compiling, OPEN_NAMES, (), allowed)
        mine: FrozenSet[Any] = seal(own, frozenset(), (), allowed).functions() | frozenset(
            self._hard
        )
        self.arm = self.watch.begin(
            mine, self.call_seals.functions() | self.other_seals.functions()
        )
        # Objects from before the tests are no garbage: the collector neither walks nor lists them.
        if hasattr(gc, "freeze"):  # PyPy lacks it
            gc.freeze()
