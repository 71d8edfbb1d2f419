"""Traces of return values, for code that cannot be called alone.

They show what edited functions and the tests' entry points return while tests run.
"""

from __future__ import annotations

import hashlib
import sys
import types
from typing import Any, Callable, List, Optional, Sequence

from sandbox.guest.search.compare.alternatives import Alternative
from sandbox.guest.search.compare.branch import branch
from sandbox.guest.search.compare.calls import CallResult
from sandbox.guest.search.compare.judge import ObservedProgram
from sandbox.guest.search.compare.record import Input
from sandbox.guest.search.compare.values import shape
from sandbox.guest.search.process.limits import Limiter
from sandbox.guest.search.process.threads import profile_threads
from sandbox.guest.search.session.harness import Items, Runner

MOST_TESTS = 12
MOST_EVENTS = 400


def trail_inputs(items: Items, tests: Sequence[int], function: types.FunctionType) -> List[Input]:
    """Return one input per test, which stands for all its calls."""
    failing = set(items.failing)
    return [
        Input(
            function,
            (),
            {},
            entry=True,
            edited=True,
            failing=test in failing,
            label=f"the calls in {items.names[test]}",
        )
        for test in tests[:MOST_TESTS]
    ]


def trails(
    one: Alternative,
    root: str,
    items: Items,
    tests: Sequence[int],
    *,
    watched: Sequence[types.FunctionType],
) -> Callable[[float], Optional[ObservedProgram]]:
    """Return a function that observes the return values in these tests within a timeout."""

    def work(limiter: Limiter) -> Any:
        one.apply(root)
        codes = {function.__code__ for function in watched}
        runner = Runner(items.all, limiter)
        told = []
        for test in tests[:MOST_TESTS]:
            listener = _Listener(codes)
            outcome = runner.run(test, 2.0, listener.around)
            told.append([listener.digest() + outcome, "trail", listener.last])
        runner.close()
        return told

    def observed(wait_s: float) -> Optional[ObservedProgram]:
        told = branch(work, wait_s)
        return None if told is None else ObservedProgram([CallResult(*result) for result in told])

    return observed


class _Listener:
    """Records return values."""

    def __init__(self, codes: Any) -> None:
        self._codes = codes
        self._hash = hashlib.sha256()
        self._events = 0
        self.last = "no return value was observed"

    def around(self, call: Callable[[], Any]) -> Any:
        profile_threads(self._on_event)
        try:
            return call()
        finally:
            profile_threads(None)

    def _on_event(self, frame: Any, event: str, value: Any) -> None:
        if event != "return" or frame.f_code not in self._codes or self._events >= MOST_EVENTS:
            return
        self._events += 1
        # Describing a value runs its methods, which must not be recorded.
        sys.setprofile(None)
        try:
            text = f"{frame.f_code.co_name} returns {shape(value)}"
            self._hash.update(text.encode("utf-8", "replace"))
            self.last = text
        except Exception:
            self.last = f"{frame.f_code.co_name} returns a value that cannot be shown"
        finally:
            sys.setprofile(self._on_event)

    def digest(self) -> str:
        """Return a hash of the return values in their order."""
        return self._hash.hexdigest()[:16]
