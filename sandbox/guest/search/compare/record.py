"""Record calls that tests make.

They are calls of edited functions, and of project functions that tests call directly.
"""

from __future__ import annotations

import gc
import sys
import types
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple

from sandbox.guest.search.compare.copies import copied_arguments
from sandbox.guest.search.compare.values import shape
from sandbox.guest.search.process.limits import Limiter
from sandbox.guest.search.process.threads import profile_threads
from sandbox.guest.search.session.harness import Items, Runner

PER_FUNCTION = 24
"""Maximum number of different calls per function, for failing and for passing tests each."""
MOST_ENTRIES = 12
"""Maximum number of functions called by tests that are watched."""
COPY_FAILURES = 6
MOST_WALKS, MOST_FRAMES = 2000, 60
GENERATOR = 0x20 | 0x80 | 0x200
"""Flags of generators and coroutines, whose frames cause several call events."""


class Input(NamedTuple):
    """One call that can be repeated."""

    function: Any
    positional: Tuple[Any, ...]
    named: Dict[str, Any]
    entry: bool
    """True if test code calls this function directly."""
    edited: bool
    failing: bool
    """True if a failing test made the call, or one near it."""
    recorded: bool = True
    far: bool = False
    """True for an input unlike all recorded ones; its results are weak evidence."""
    label: str = ""
    """Text for a reader in place of a call that cannot be repeated."""


class CallRecorder:
    """Records calls while tests run.

    Args:
        functions: Functions of the project by their code.
        edited: Code of the edited functions.
        is_project: Returns True for the project's own source files.
    """

    def __init__(
        self,
        functions: Dict[types.CodeType, types.FunctionType],
        edited: Sequence[types.CodeType],
        is_project: Callable[[str], bool],
    ) -> None:
        self.calls: List[Input] = []
        self.failing = False
        self.entries: Dict[types.FunctionType, None] = {}
        self._functions = functions
        self._edited = set(edited)
        self._is_project = is_project
        self._entries: Dict[types.CodeType, None] = {}
        self._shapes: Set[Tuple[types.CodeType, str]] = set()
        self._counts: Dict[Tuple[types.CodeType, bool], int] = {}
        self._failures: Dict[types.CodeType, int] = {}
        self._frames: List[Any] = []
        self._reaching: Set[types.CodeType] = set()
        self._walks = 0
        self._is_on = False

    def learn(self, function: types.FunctionType, code: types.CodeType) -> None:
        """Register the new code of a function."""
        self._functions[code] = function
        self._edited.add(code)

    def around(self, call: Callable[[], Any]) -> Any:
        """Record the calls of a test."""
        self._is_on = True
        profile_threads(self._on_event)
        try:
            return call()
        finally:
            self._is_on = False
            profile_threads(None)

    def _on_event(self, frame: Any, event: str, _argument: Any) -> None:
        if not self._is_on:
            sys.setprofile(None)  # a thread that outlives the test
            return
        code = frame.f_code
        if event != "call" or code not in self._functions:
            return
        entry = self._is_entry(frame)
        if code in self._edited:
            self._note_who_reaches(frame)
        if not entry and code not in self._edited:
            return
        key = (code, self.failing)
        if self._counts.get(key, 0) >= PER_FUNCTION or self._failures.get(code, 0) >= COPY_FAILURES:
            return
        # A generator's frame causes a call event at every resume.
        if code.co_flags & GENERATOR:
            if any(known is frame for known in self._frames):
                return
            self._frames.append(frame)
        # Copying arguments runs methods of the repository, which must not be recorded.
        sys.setprofile(None)
        try:
            self._note(frame, key, entry=entry)
        except Exception:
            self._failures[code] = self._failures.get(code, 0) + 1
        finally:
            sys.setprofile(self._on_event)

    def _note_who_reaches(self, frame: Any) -> None:
        """Record which functions called by tests lead to an edited one."""
        self._walks += 1
        if self._walks > MOST_WALKS:
            return
        for _ in range(MOST_FRAMES):
            if frame.f_code in self._entries:
                self._reaching.add(frame.f_code)
            frame = frame.f_back
            if frame is None:
                return

    def useful_calls(self) -> List[Input]:
        """Return the calls of edited functions and of those that lead to one.

        Return all calls if no function was seen to lead to one.
        """
        if not self._reaching:
            return self.calls
        reaching = {self._functions[code] for code in self._reaching}
        return [call for call in self.calls if call.edited or call.function in reaching]

    def _is_entry(self, frame: Any) -> bool:
        code, caller = frame.f_code, frame.f_back
        if caller is None or self._is_project(caller.f_code.co_filename):
            return False
        if (
            code not in self._entries
            and len(self._entries) < MOST_ENTRIES
            and not code.co_name.startswith("<")
        ):
            self._entries[code] = None
            self.entries[self._functions[code]] = None
        return code in self._entries

    def _note(self, frame: Any, key: Tuple[types.CodeType, bool], *, entry: bool) -> None:
        code = frame.f_code
        positional, named = read_arguments(frame)
        text = shape((positional, sorted(named.items())))
        if (code, text) in self._shapes:
            return
        own = copied_arguments(positional, named)
        self._shapes.add((code, text))
        self._counts[key] = self._counts.get(key, 0) + 1
        function = self._functions[code]
        self.calls.append(
            Input(function, own[0], own[1], entry, code in self._edited, self.failing)
        )


def read_arguments(frame: Any) -> Tuple[Tuple[Any, ...], Dict[str, Any]]:
    """Return the arguments of a call that has just begun."""
    code, values = frame.f_code, frame.f_locals
    names = code.co_varnames
    count, only = code.co_argcount, code.co_kwonlyargcount
    positional = [values[name] for name in names[:count]]
    named = {name: values[name] for name in names[count : count + only]}
    at = count + only
    if code.co_flags & 0x04:
        positional += values[names[at]]
        at += 1
    if code.co_flags & 0x08:
        named.update(values[names[at]])
    return tuple(positional), named


def project_functions(
    is_project: Callable[[str], bool],
) -> Dict[types.CodeType, types.FunctionType]:
    """Return all functions of the project in this process, by their code."""
    # The garbage collector does not list frozen objects.
    gc.unfreeze()
    found: Dict[types.CodeType, types.FunctionType] = {}
    known: Dict[str, bool] = {}
    for thing in gc.get_objects():
        if type(thing) is types.FunctionType:
            filename = thing.__code__.co_filename
            if filename not in known:
                known[filename] = is_project(filename)
            if known[filename]:
                found.setdefault(thing.__code__, thing)
    return found


def record(
    items: Items,
    tests: Sequence[int],
    recorder: CallRecorder,
    limiter: Limiter,
    *,
    limit_of: Callable[[int], float],
) -> Iterator[Optional[str]]:
    """Run tests under the recorder; yield after each, so that the caller can stop."""
    runner = Runner(items.all, limiter)
    failing = set(items.failing)
    for index in tests:
        recorder.failing = index in failing
        yield runner.run(index, limit_of(index), recorder.around)
    runner.close()
