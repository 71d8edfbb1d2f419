"""Observe pytest while single tests run: failed subtests, and fixtures that outlive a test."""

from __future__ import annotations

import contextlib
import sys
import time
from typing import Any, Dict, Iterator, Optional

from sandbox.guest.search.process.limits import Limiter

ALLOWANCE_S = 5.0
"""Maximum CPU time for setting up fixtures that outlive a test, until it is measured, in seconds.
"""


class FixtureWatch:
    """Observes a session.

    The set-up of fixtures that outlive a test does not count against its limit.
    """

    name = "metaagent-watch"

    def __init__(self) -> None:
        self.failed = False
        """True if a subtest of the last test failed, which pytest reports without an exception."""
        self.moves = 0
        """Number of set-ups and tear-downs of fixtures that outlive a test."""
        self.cpu_s = self.wall_s = 0.0
        """Time spent on their set-ups, in seconds."""
        self.allowance = ALLOWANCE_S
        self.limiter: Optional[Limiter] = None
        self.unseen = False
        """True if that set-up is not traced."""
        self.called: Optional[Dict[int, Any]] = None
        """Code objects that ran during that set-up, by id; None to record nothing."""
        self._cpu, self._wall = (
            time.process_time,
            time.perf_counter,
        )  # tests may replace the clocks in the module
        self._inside = False

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Record a failed subtest; the search enables no other reports."""
        self.failed = self.failed or bool(getattr(report, "failed", False))

    def pytest_fixture_setup(self, fixturedef: Any, request: Any) -> Iterator[None]:
        """Measure the set-up of a fixture that outlives a test."""
        if not outlives(fixturedef, request):
            yield
            return
        with self.outliving():
            yield

    def pytest_fixture_post_finalizer(self, fixturedef: Any, request: Any) -> None:
        """Count the tear-down of a fixture that outlives a test."""
        if outlives(fixturedef, request):
            self.moves += 1

    @contextlib.contextmanager
    def outliving(self) -> Iterator[None]:
        """Measure a set-up of what outlives a test, with its own time limit."""
        if self._inside:
            yield
            return
        self.moves += 1
        self._inside = True
        cpu, wall = self._cpu(), self._wall()
        more = (
            self.limiter.longer(self.allowance)
            if self.limiter is not None
            else contextlib.nullcontext()
        )
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


def outlives(definition: Any, owner: Any) -> bool:
    """Return True if a fixture stays set up after the test that needed it.

    Args:
        definition: The fixture.
        owner: The test, or a request of it.
    """
    scope = getattr(definition, "scope", "?")
    # Outside of a class, pytest sets up a fixture of class scope for each test.
    return scope not in (("function", "class") if _has_no_class(owner) else ("function",))


def _has_no_class(owner: Any) -> bool:
    return getattr(owner, "cls", owner) is None


def get_watch(config: Any) -> FixtureWatch:
    """Return the watch of a session, which all runners share."""
    known = config.pluginmanager.get_plugin(FixtureWatch.name)
    if known is None:
        known = FixtureWatch()
        if "pytest" in sys.modules:
            mark = sys.modules["pytest"].hookimpl(hookwrapper=True)
            mark(FixtureWatch.pytest_fixture_setup)
        config.pluginmanager.register(known, FixtureWatch.name)
        factory: Any = getattr(config, "_tmp_path_factory", None)
        if hasattr(factory, "_retention_policy"):
            factory._retention_policy = (
                "failed"  # so that thousands of trials leave no folders behind
            )
    return known  # type: ignore[no-any-return]
