"""Trace the calls and lines of a test in the checkout, cheaply in every Python version."""

from __future__ import annotations

import dis
import sys
import types
from typing import Any, Callable, Dict, List, Optional, Set, Tuple

from sandbox.guest.search.process.threads import trace_threads

IDLE_RED, IDLE_GREEN = 20_000, 200
"""Line events without a new line after which a function is no longer traced: failing, passing test.
"""
MOST_STEPS, MOST_RESTARTS = 20_000, 400
"""Maximum number of steps of one test that are distinguished."""
STEPS = 8
"""Number of last steps that are reported."""
FRAMES = 80
"""Maximum distance to the calling frame."""
RETURNS, NOTED = 6, 16
"""Returns per function: maximum seen per test, and maximum recorded over all tests of a kind."""

FunctionKey = Tuple[str, int]
"""Path relative to the checkout, and the code's first line."""
OnReturn = Callable[["TracedFunction", Any], None]


class TracedFunction:
    """A code object of the checkout and its events in one test.

    Args:
        code: The code, kept alive so that its id stays unique.
        path: Its file, relative to the checkout.
    """

    def __init__(self, code: types.CodeType, path: str) -> None:
        self.code = code
        self.path = path
        self.watched = False
        """True if a failing test calls it; only then its lines are traced."""
        self.noted = [0, 0]
        """Number of recorded returns in passing and in failing tests."""
        self.lines: Dict[int, int] = {}
        """The last step of the test that ran each line."""
        self.wanted: Set[int] = set()
        """Lines that failing tests ran; no others are traced in passing tests."""
        self.exits: Dict[int, None] = {}
        self.returns = 0
        self.idle = 0
        self.step = 0
        self.depth = 0
        self.caller: Optional[FunctionKey] = None

    def clear(self) -> None:
        """Clear the events of the last test."""
        self.lines = {}
        self.exits = {}
        self.returns = self.idle = self.step = self.depth = 0
        self.caller = None

    def all_lines(self) -> Set[int]:
        """Return all lines of the code."""
        return {line for _, line in dis.findlinestarts(self.code) if line} - {
            self.code.co_firstlineno
        }

    @property
    def key(self) -> FunctionKey:
        """The path and the first line of the function."""
        return (self.path, self.code.co_firstlineno)


class Tracer:
    """Records the events of one test; subclasses receive them from the interpreter.

    Args:
        place: Returns the relative path of an editable file by its absolute name, else None.
        on_return: Called with a frame that is about to return.
        is_test: Returns True for a test file; each of its lines is a step of a failing test.
    """

    def __init__(
        self,
        place: Callable[[str], Optional[str]],
        on_return: OnReturn,
        is_test: Callable[[str], bool] = lambda _: False,
    ) -> None:
        self._place = place
        self._on_return = on_return
        self._is_test = is_test
        self._test = TracedFunction(Tracer.run.__code__, "")
        """The entry for all code of tests."""
        self._step = 0
        self._paths: Dict[str, Optional[str]] = {}
        self._entries: Dict[int, Optional[TracedFunction]] = {}
        self._keep: List[types.CodeType] = []
        self._called: Dict[int, TracedFunction] = {}
        self._red = True
        self._begin: Callable[[], Any] = dict
        self._stop: Callable[[], Any] = dict

    def run(self, call: Callable[[], Any], *, red: bool) -> Any:
        """Trace one call; lines only in functions that some call with `red` has reached."""
        for entry in self._called.values():
            if self._red:
                entry.wanted.update(entry.lines)
            entry.clear()
        self._called = {}
        self._red = red
        self._step = 0
        self._begin()
        try:
            return call()
        finally:
            self._stop()

    def called(self) -> List[TracedFunction]:
        """Return the functions of the last test in the order of their first calls."""
        return list(self._called.values())

    def editable_path(self, filename: str) -> Optional[str]:
        """Return the cached result of `place`."""
        if filename not in self._paths:
            self._paths[filename] = self._place(filename)
        return self._paths[filename]

    def find_entry(self, code: types.CodeType) -> Optional[TracedFunction]:
        """Return the entry of a code object, or None if it is not traced."""
        number = id(code)
        if number in self._entries:
            return self._entries[number]
        self._keep.append(code)
        path = None if code.co_name == "<module>" else self.editable_path(code.co_filename)
        entry: Optional[TracedFunction] = None
        if path is not None:
            entry = TracedFunction(code, path)
        elif self._is_test(code.co_filename):
            entry = self._test
        self._entries[number] = entry
        return entry

    def recent(self) -> Dict[str, Dict[int, int]]:
        """Return the age of each line in steps before the last one, for the last few steps."""
        steps = sorted(
            {step for entry in self._called.values() for step in entry.lines.values()}, reverse=True
        )
        age = {step: number for number, step in enumerate(steps[:STEPS])}
        found: Dict[str, Dict[int, int]] = {}
        for entry in self._called.values():
            for line, step in entry.lines.items():
                if step in age:
                    found.setdefault(entry.path, {})[line] = age[step]
        return found

    def note_call(self, entry: TracedFunction, frame: Any) -> None:
        """Record the first call of a function in this test, with its caller and depth."""
        self._called[id(entry.code)] = entry
        entry.depth = 1
        if self._red:
            entry.watched = True
        for _ in range(FRAMES):
            frame = frame.f_back
            if frame is None:
                return
            caller = self._entries.get(id(frame.f_code))
            if caller is not None and id(caller.code) in self._called and caller is not entry:
                entry.caller = caller.key
                entry.depth = caller.depth + 1
                return

    def note_return(self, entry: TracedFunction, frame: Any) -> None:
        """Record the line of a return, and its frame up to a limit."""
        entry.exits[frame.f_lineno] = None
        if entry.noted[self._red] < NOTED:
            entry.noted[self._red] += 1
            self._on_return(entry, frame)


class SetTrace(Tracer):
    """Traces by `sys.settrace`: all calls, but lines only in selected functions."""

    def __init__(
        self,
        place: Callable[[str], Optional[str]],
        on_return: OnReturn,
        is_test: Callable[[str], bool] = lambda _: False,
    ) -> None:
        super().__init__(place, on_return, is_test)
        self._foreign: Set[int] = set()
        self._done: Set[int] = set()
        """Ids of code with nothing more to trace: in general, and in this test."""
        self._begin = self._start
        self._stop = self._end
        self._is_on = False

    def _start(self) -> None:
        self._done = set(self._foreign)
        self._is_on = True
        trace_threads(self._on_call)

    def _end(self) -> None:
        self._is_on = False
        trace_threads(None)

    def _on_call(self, frame: Any, _event: str, _argument: Any) -> Any:
        if not self._is_on:
            sys.settrace(None)  # a thread that outlives the test
            return None
        number = id(frame.f_code)
        if number in self._done:
            return None
        entry = self._entries[number] if number in self._entries else self.find_entry(frame.f_code)
        if entry is None:
            self._foreign.add(number)
            self._done.add(number)
            return None
        if entry is self._test:
            return self._on_test if self._red else None
        if number not in self._called:
            self.note_call(entry, frame)
        if not entry.watched:
            self._done.add(number)
            return None
        if not self._red:
            return self._listener_of_passing(entry, number)
        if entry.step != self._step:
            entry.step, entry.idle = self._step, 0
        return None if entry.idle > IDLE_RED else self._listener(entry)

    def _on_test(self, frame: Any, event: str, _argument: Any) -> Any:
        if event == "line":
            self._step += 1
            if self._step > MOST_STEPS:
                frame.f_trace_lines = False
        return self._on_test

    def _listener(self, entry: TracedFunction) -> Any:
        def on_event(frame: Any, event: str, _argument: Any) -> Any:
            if event == "line":
                line = frame.f_lineno
                if line in entry.lines:
                    entry.idle += 1
                    if entry.idle > IDLE_RED:
                        self._give_up(entry, frame)
                entry.lines[line] = self._step
            elif event == "return" and entry.returns < RETURNS:
                entry.returns += 1
                self.note_return(entry, frame)
            return on_event

        return on_event

    def _listener_of_passing(self, entry: TracedFunction, number: int) -> Any:
        """Return a listener for a passing test.

        It stops after the lines that failing tests ran, and after enough returns.
        """

        def on_event(frame: Any, event: str, _argument: Any) -> Any:
            if event == "line":
                line = frame.f_lineno
                if line not in entry.lines:
                    entry.lines[line] = 0
                    if entry.wanted <= entry.lines.keys():
                        frame.f_trace_lines = False
                        finish()
                else:
                    entry.idle += 1
                    if entry.idle > IDLE_GREEN:
                        self._give_up(entry, frame)
                        finish()
            elif event == "return" and entry.returns < RETURNS:
                entry.returns += 1
                self.note_return(entry, frame)
                finish()
            return on_event

        def finish() -> None:
            seen = entry.idle > IDLE_GREEN or entry.wanted <= entry.lines.keys()
            if seen and (entry.noted[False] >= NOTED or entry.returns >= RETURNS):
                self._done.add(number)

        return on_event

    def _give_up(self, entry: TracedFunction, frame: Any) -> None:
        """Stop tracing a frame; record all its lines, because the later ones are unknown."""
        frame.f_trace_lines = False
        entry.lines.update(dict.fromkeys(entry.all_lines() - set(entry.lines), self._step))


class Monitor(Tracer):
    """Traces by `sys.monitoring` (Python 3.12 and later).

    A line is reported once, then costs nothing.
    """

    def __init__(
        self,
        place: Callable[[str], Optional[str]],
        on_return: OnReturn,
        is_test: Callable[[str], bool] = lambda _: False,
    ) -> None:
        super().__init__(place, on_return, is_test)
        self._api: Any = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
        self._off = self._api.DISABLE
        self._tool = free_tool()
        self._local: Dict[int, None] = {}
        events = self._api.events
        self._api.use_tool_id(self._tool, "metaagent")
        self._api.register_callback(self._tool, events.PY_START, self._on_start)
        self._api.register_callback(self._tool, events.LINE, self._on_line)
        self._api.register_callback(self._tool, events.PY_RETURN, self._on_leave)
        self._begin, self._stop = self._start, self._end

    def _start(self) -> None:
        """Listen to all starts, and to lines and returns of selected functions."""
        self._api.set_events(self._tool, self._api.events.PY_START)
        self._api.restart_events()

    def _end(self) -> None:
        """Stop listening; the local events of known functions stay."""
        self._api.set_events(self._tool, 0)

    def _on_start(self, code: types.CodeType, _offset: int) -> Any:
        entry = self.find_entry(code)
        if entry is self._test:
            if self._red and id(code) not in self._local:
                self._local[id(code)] = None
                self._api.set_local_events(self._tool, code, self._api.events.LINE)
        elif entry is not None and id(code) not in self._called:
            self.note_call(entry, sys._getframe(1))  # noqa: SLF001
            if entry.watched and id(code) not in self._local:
                self._local[id(code)] = None
                events = self._api.events
                self._api.set_local_events(self._tool, code, events.LINE | events.PY_RETURN)
        return self._off

    def _on_line(self, code: types.CodeType, line: int) -> Any:
        entry = self._called.get(id(code))
        if entry is not None:
            entry.lines[line] = self._step
        elif self._red and self._entries.get(id(code)) is self._test and self._step < MOST_RESTARTS:
            self._step += 1
            # Reported lines are disabled; a new step of the test has to report them again.
            self._api.restart_events()
            return None
        return self._off

    def _on_leave(self, code: types.CodeType, _offset: int, _value: Any) -> Any:
        entry = self._called.get(id(code))
        if entry is None or entry.returns >= RETURNS:
            return self._off
        entry.returns += 1
        self.note_return(entry, sys._getframe(1))  # noqa: SLF001
        return None


def free_tool() -> int:
    """Return the number of an unused monitoring tool.

    Raises:
        ValueError: All are in use.
    """
    monitoring = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
    for number in (3, 4, 1, 2, 5, 0):
        if monitoring.get_tool(number) is None:
            return number
    raise ValueError("no monitoring tool is free")


def make_tracer(
    place: Callable[[str], Optional[str]],
    on_return: OnReturn,
    is_test: Callable[[str], bool] = lambda _: False,
) -> Tracer:
    """Return the cheapest tracer of this interpreter."""
    if hasattr(sys, "monitoring"):
        try:
            free_tool()
        except ValueError:
            return SetTrace(place, on_return, is_test)
        return Monitor(place, on_return, is_test)
    return SetTrace(place, on_return, is_test)
