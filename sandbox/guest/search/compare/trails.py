"""For code that cannot be called alone: what the edited functions and those that tests call return while tests run."""

from __future__ import annotations

import hashlib
import sys
import types
from typing import Any, Callable, List, Optional, Sequence

from sandbox.guest.search.compare.alternatives import Alternative
from sandbox.guest.search.compare.branch import branch
from sandbox.guest.search.compare.calls import Result
from sandbox.guest.search.compare.judge import Observed
from sandbox.guest.search.compare.record import Input
from sandbox.guest.search.compare.values import shape
from sandbox.guest.search.process.limits import Limiter
from sandbox.guest.search.session.harness import Items, Runner

MOST_TESTS = 12
MOST_EVENTS = 400


def trail_inputs(items: Items, tests: Sequence[int], function: types.FunctionType) -> List[Input]:
    """One per test: all its calls together."""
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
    one: Alternative, root: str, items: Items, tests: Sequence[int], *, watched: Sequence[types.FunctionType]
) -> Callable[[float], Optional[Observed]]:
    """What one program's functions return in these tests, as a function of how long that may take."""

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

    def observed(wait_s: float) -> Optional[Observed]:
        told = branch(work, wait_s)
        return None if told is None else Observed([Result(*result) for result in told])

    return observed


class _Listener:
    """Notes what functions return."""

    def __init__(self, codes: Any) -> None:
        self._codes = codes
        self._hash = hashlib.sha256()
        self._events = 0
        self.last = "nothing is returned"

    def around(self, call: Callable[[], Any]) -> Any:
        sys.setprofile(self._on_event)
        try:
            return call()
        finally:
            sys.setprofile(None)

    def _on_event(self, frame: Any, event: str, value: Any) -> None:
        if event != "return" or frame.f_code not in self._codes or self._events >= MOST_EVENTS:
            return
        self._events += 1
        sys.setprofile(None)
        try:
            text = f"{frame.f_code.co_name} gives {shape(value)}"
            self._hash.update(text.encode("utf-8", "replace"))
            self.last = text
        except Exception:
            self.last = f"{frame.f_code.co_name} gives something that cannot be shown"
        finally:
            sys.setprofile(self._on_event)

    def digest(self) -> str:
        """Equal for equal returns in equal order."""
        return self._hash.hexdigest()[:16]
