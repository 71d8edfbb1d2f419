"""What pytest tells while single tests run: parts of tests that fail, and fixtures that outlive a test."""

from __future__ import annotations

import contextlib
import sys
import time
from typing import Any, Dict, Iterator, Optional

from sandbox.guest.search.process.limits import Limiter

ALLOWANCE_S = 5.0
"""CPU time for setting up what outlives a test, until it is known how long that takes."""


class Watch:
    """Looks on at a session; a test's limit does not count the set-up of what outlives it."""

    name = "metaagent-watch"

    def __init__(self) -> None:
        self.failed = False
        """A part of the last test failed, which pytest tells by a report and not by an exception."""
        self.moves = 0
        """How often something that outlives a test was set up or torn down."""
        self.cpu_s = self.wall_s = 0.0
        """Spent with setting such things up."""
        self.allowance = ALLOWANCE_S
        self.limiter: Optional[Limiter] = None
        self.unseen = False
        """Whether nobody traces what runs meanwhile."""
        self.called: Optional[Dict[int, Any]] = None
        """Code that ran meanwhile, by its identity; noted when there is a dictionary."""
        self._cpu, self._wall = time.process_time, time.perf_counter  # tests may put others into the module
        self._inside = False

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Only parts of tests are reported while the search runs them."""
        self.failed = self.failed or bool(getattr(report, "failed", False))

    def pytest_fixture_setup(self, fixturedef: Any) -> Iterator[None]:
        """Around the set-up of a fixture."""
        if fixturedef.scope == "function":
            yield
            return
        with self.outliving():
            yield

    def pytest_fixture_post_finalizer(self, fixturedef: Any) -> None:
        """A fixture is torn down."""
        if fixturedef.scope != "function":
            self.moves += 1

    @contextlib.contextmanager
    def outliving(self) -> Iterator[None]:
        """Around the set-up of what outlives a test."""
        if self._inside:
            yield
            return
        self.moves += 1
        self._inside = True
        cpu, wall = self._cpu(), self._wall()
        more = self.limiter.longer(self.allowance) if self.limiter is not None else contextlib.nullcontext()
        try:
            with more, self._noting():
                yield
        finally:
            self._inside = False
            self.cpu_s += self._cpu() - cpu
            self.wall_s += self._wall() - wall

    @contextlib.contextmanager
    def _noting(self) -> Iterator[None]:
        called, before = self.called, (sys.getprofile(), sys.gettrace())
        if self.unseen:
            sys.setprofile(None)
            sys.settrace(None)
            try:
                yield
            finally:
                sys.setprofile(before[0])
                sys.settrace(before[1])
            return
        if called is None or before[0] is not None:
            yield
            return

        def note(frame: Any, event: str, _: Any) -> None:
            if event == "call":
                called[id(frame.f_code)] = frame.f_code

        sys.setprofile(note)
        try:
            yield
        finally:
            sys.setprofile(None)


def watch_of(config: Any) -> Watch:
    """The watch of this session; the same for all runners."""
    known = config.pluginmanager.get_plugin(Watch.name)
    if known is None:
        known = Watch()
        if "pytest" in sys.modules:
            mark = sys.modules["pytest"].hookimpl(hookwrapper=True)
            mark(Watch.pytest_fixture_setup)
        config.pluginmanager.register(known, Watch.name)
        factory: Any = getattr(config, "_tmp_path_factory", None)
        if hasattr(factory, "_retention_policy"):
            factory._retention_policy = "failed"  # so that thousands of trials leave no folders behind
    return known  # type: ignore[no-any-return]
