"""Which functions of the checkout a test calls, and which lines it runs in those that matter; cheap on every Python."""

from __future__ import annotations

import dis
import sys
import types
from typing import Any, Callable, Dict, List, Optional, Set, Tuple

IDLE_RED, IDLE_GREEN = 20_000, 200
"""Line events without a new line after which a function's frames are left alone: a failing test, a passing one."""
MOST_STEPS, MOST_RESTARTS = 20_000, 400
"""Steps of one test that are told apart."""
STEPS = 8
"""How many of the last steps are of interest."""
FRAMES = 80
"""How far up the caller is looked for."""
RETURNS, NOTED = 6, 16
"""How many returns of each function are seen per test, and looked at closely in all failing and all passing tests."""

FunctionKey = Tuple[str, int]
"""Path relative to the checkout, and the code's first line."""
OnReturn = Callable[["Entry", Any], None]


class Entry:
    """One code object of the checkout, and what one test did in it.

    Args:
        code: The code; kept, so that no other can have its identity.
        path: Its file, relative to the checkout.
    """

    def __init__(self, code: types.CodeType, path: str) -> None:
        self.code = code
        self.path = path
        self.watched = False
        """Whether a failing test calls it: only then its lines are of interest."""
        self.noted = [0, 0]
        """How many returns were looked at in passing and in failing tests."""
        self.lines: Dict[int, int] = {}
        """Line to the step of the test in which it ran last."""
        self.wanted: Set[int] = set()
        """Lines that failing tests ran: of a passing test no others are of interest."""
        self.exits: Dict[int, None] = {}
        self.returns = 0
        self.idle = 0
        self.step = 0
        self.depth = 0
        self.caller: Optional[FunctionKey] = None

    def clear(self) -> None:
        """Forget the last test."""
        self.lines = {}
        self.exits = {}
        self.returns = self.idle = self.step = self.depth = 0
        self.caller = None

    def all_lines(self) -> Set[int]:
        """Every line there is."""
        return {line for _, line in dis.findlinestarts(self.code) if line} - {self.code.co_firstlineno}

    @property
    def key(self) -> FunctionKey:
        """Where the function is."""
        return (self.path, self.code.co_firstlineno)


class Tracer:
    """Collects what one test does; how it listens is its children's business.

    Args:
        place: The path of a file below the checkout if it may be edited, by its absolute name, else None.
        on_return: Told of a frame that is about to return.
        is_test: Whether a file (by its absolute name) is a test's: each of its lines is a step of a failing test.
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
        self._test = Entry(Tracer.run.__code__, "")
        """Stands for all code of tests."""
        self._step = 0
        self._paths: Dict[str, Optional[str]] = {}
        self._entries: Dict[int, Optional[Entry]] = {}
        self._keep: List[types.CodeType] = []
        self._called: Dict[int, Entry] = {}
        self._red = True
        self._begin: Callable[[], Any] = dict
        self._stop: Callable[[], Any] = dict

    def run(self, call: Callable[[], Any], *, red: bool) -> Any:
        """Trace one call; lines only in functions that a call with `red` has reached."""
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

    def called(self) -> List[Entry]:
        """The functions of the last test, in the order they were called first."""
        return list(self._called.values())

    def path_of(self, filename: str) -> Optional[str]:
        """The same as `place`, remembered."""
        if filename not in self._paths:
            self._paths[filename] = self._place(filename)
        return self._paths[filename]

    def entry_of(self, code: types.CodeType) -> Optional[Entry]:
        """What is known of a code object; None when it is not of interest."""
        number = id(code)
        if number in self._entries:
            return self._entries[number]
        self._keep.append(code)
        path = None if code.co_name == "<module>" else self.path_of(code.co_filename)
        entry = Entry(code, path) if path is not None else self._test if self._is_test(code.co_filename) else None
        self._entries[number] = entry
        return entry

    def recent(self) -> Dict[str, Dict[int, int]]:
        """Path to line to how many steps before the last one of the test it ran last; only of the last few."""
        steps = sorted({step for entry in self._called.values() for step in entry.lines.values()}, reverse=True)
        age = {step: number for number, step in enumerate(steps[:STEPS])}
        found: Dict[str, Dict[int, int]] = {}
        for entry in self._called.values():
            for line, step in entry.lines.items():
                if step in age:
                    found.setdefault(entry.path, {})[line] = age[step]
        return found

    def note_call(self, entry: Entry, frame: Any) -> None:
        """The first call of a function in this test: who called it, and how deep inside the checkout."""
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

    def note_return(self, entry: Entry, frame: Any) -> None:
        """A function returns: where, and as long as there may be news, with what names."""
        entry.exits[frame.f_lineno] = None
        if entry.noted[self._red] < NOTED:
            entry.noted[self._red] += 1
            self._on_return(entry, frame)


class SetTrace(Tracer):
    """By `sys.settrace`: every call is told, lines only of the functions of interest."""

    def __init__(
        self,
        place: Callable[[str], Optional[str]],
        on_return: OnReturn,
        is_test: Callable[[str], bool] = lambda _: False,
    ) -> None:
        super().__init__(place, on_return, is_test)
        self._foreign: Set[int] = set()
        self._done: Set[int] = set()
        """Code in which there is nothing to see: ever, in this test."""
        self._begin = self._start
        self._stop = lambda: sys.settrace(None)

    def _start(self) -> None:
        self._done = set(self._foreign)
        sys.settrace(self._on_call)

    def _on_call(self, frame: Any, _event: str, _argument: Any) -> Any:
        number = id(frame.f_code)
        if number in self._done:
            return None
        entry = self._entries[number] if number in self._entries else self.entry_of(frame.f_code)
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

    def _listener(self, entry: Entry) -> Any:
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

    def _listener_of_passing(self, entry: Entry, number: int) -> Any:
        """Until it has seen the lines that failing tests ran, and looked at as many returns as it may."""

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

    def _give_up(self, entry: Entry, frame: Any) -> None:
        """What it would have run later on is not known: say that it runs everything."""
        frame.f_trace_lines = False
        entry.lines.update(dict.fromkeys(entry.all_lines() - set(entry.lines), self._step))


class Monitor(Tracer):
    """By `sys.monitoring` (Python 3.12 and later): each line is told once, then costs nothing."""

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
        """Listen to starts everywhere, and to lines and returns of the functions of interest."""
        self._api.set_events(self._tool, self._api.events.PY_START)
        self._api.restart_events()

    def _end(self) -> None:
        """Listen no more; the local events of known functions stay."""
        self._api.set_events(self._tool, 0)

    def _on_start(self, code: types.CodeType, _offset: int) -> Any:
        entry = self.entry_of(code)
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
    """A number of a monitoring tool that nobody uses.

    Raises:
        ValueError: all are taken.
    """
    monitoring = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
    for number in (3, 4, 1, 2, 5, 0):
        if monitoring.get_tool(number) is None:
            return number
    raise ValueError("no monitoring tool is free")


def make_tracer(
    place: Callable[[str], Optional[str]], on_return: OnReturn, is_test: Callable[[str], bool] = lambda _: False
) -> Tracer:
    """The cheapest tracer of this interpreter."""
    if hasattr(sys, "monitoring"):
        try:
            free_tool()
        except ValueError:
            return SetTrace(place, on_return, is_test)
        return Monitor(place, on_return, is_test)
    return SetTrace(place, on_return, is_test)
