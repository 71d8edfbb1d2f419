"""pytest as a warm host: collects once, then runs single items with their fixtures and without reports."""

from __future__ import annotations

import contextlib
from typing import Any, Dict, List, NamedTuple, Optional, Sequence

from sandbox.guest.failure_detail import Describer
from sandbox.guest.search.limits import Limiter, TimeUp

PASS, FAIL, TIMEOUT, SKIP = "pass", "fail", "timeout", "skip"

OFF = (
    "cov", "pytest_cov", "xdist", "xdist.looponfail", "randomly", "pytest_randomly", "rerunfailures", "timeout",
    "pytest_timeout", "cacheprovider", "faulthandler", "junitxml", "pastebin", "benchmark", "sugar", "pytest_sugar",
    "unraisableexception", "threadexception", "flakefinder", "random_order", "instafail", "html", "metadata",
)  # fmt: skip
"""Plugins that would measure, spread, reorder or repeat what the search runs many thousand times."""

IGNORED_OPTIONS = (
    ("--cov", "?"), ("--cov-report", 1), ("--cov-config", 1), ("--cov-fail-under", 1), ("--cov-context", 1),
    ("--no-cov", 0), ("--cov-append", 0), ("--cov-branch", 0), ("--no-cov-on-fail", 0), ("-n", 1),
    ("--numprocesses", 1), ("--dist", 1), ("--maxprocesses", 1), ("--tx", 1), ("--timeout", 1),
    ("--timeout-method", 1), ("--session-timeout", 1), ("--reruns", 1), ("--reruns-delay", 1),
    ("--randomly-seed", 1), ("--randomly-dont-reorganize", 0), ("--randomly-dont-reset-seed", 0),
    ("--junitxml", 1), ("--junit-xml", 1), ("--junitprefix", 1), ("--cache-clear", 0), ("--lf", 0),
    ("--last-failed", 0), ("--ff", 0), ("--failed-first", 0), ("--nf", 0), ("--sw", 0), ("--stepwise", 0),
    ("--benchmark-skip", 0), ("--benchmark-disable", 0), ("--benchmark-only", 0), ("--html", 1),
    ("--self-contained-html", 0), ("--random-order", 0), ("--instafail", 0),
)  # fmt: skip
"""Options of those plugins, so that a project that sets them is still understood."""


class Options:
    """Understands and ignores the options of the plugins that are off."""

    def pytest_addoption(self, parser: Any) -> None:
        """Declare them; one that is declared already belongs to somebody who is on."""
        group = parser.getgroup("metaagent-ignored")
        for name, takes in IGNORED_OPTIONS:
            settings: Dict[str, Any] = {"action": "store_true"} if takes == 0 else {"action": "append"}
            if takes == "?":
                settings["nargs"] = "?"
                settings["const"] = ""
            settings["dest"] = "ignored" + name.replace("-", "_")
            with contextlib.suppress(Exception):
                group._addoption(name, **settings)
        for name in ("timeout", "timeout_method", "junit_family", "cache_dir", "junit_suite_name"):
            with contextlib.suppress(Exception):
                parser.addini(name, "ignored", default=None)


class Items(NamedTuple):
    """The tests the search knows, in the order they were collected."""

    all: List[Any]
    names: List[str]
    """Node ids relative to the checkout."""
    failing: List[int]
    passing: List[int]


def find_items(session: Any, root: str, failing: Sequence[str], passing: Sequence[str]) -> Items:
    """The session's items and which of them are known to fail and to pass (all others, when none are named)."""
    known_failing, known_passing = set(failing), set(passing)
    items = list(session.items)
    describer = Describer(root)
    describer.rootdir = str(session.config.rootpath)
    names = [describer.node_id(item.nodeid) for item in items]
    red = [i for i, name in enumerate(names) if name in known_failing]
    green = [
        i
        for i, name in enumerate(names)
        if name not in known_failing
        and (name in known_passing or not known_passing)
        and not any(items[i].iter_markers(name="xfail"))
    ]
    return Items(items, names, red, green)


class Runner:
    """Runs items in this process; make one per forked child.

    Args:
        items: All items.
        limiter: Bounds each test.
    """

    def __init__(self, items: Sequence[Any], limiter: Limiter) -> None:
        self._items = items
        self._limiter = limiter
        self._open: Optional[Any] = None

    def run(self, index: int, cpu_s: float, around: Any = None) -> str:
        """Set up and call one test; it is torn down when the next one runs, or by `close`."""
        item = self._items[index]
        self._tear_down(item)
        self._open = item
        if hasattr(item, "_excinfo"):
            item._excinfo = None
        try:
            with self._limiter.within(cpu_s):
                if hasattr(item, "_request") and not item._request:
                    item._initrequest()
                item.ihook.pytest_runtest_setup(item=item)
                call = item.ihook.pytest_runtest_call
                if around is None:
                    call(item=item)
                else:
                    around(lambda: call(item=item))
        except TimeUp:
            return TIMEOUT
        except BaseException as error:
            return SKIP if type(error).__name__ == "Skipped" else FAIL
        return _recorded(item)

    def close(self) -> None:
        """Tear down everything that is still set up."""
        self._tear_down(None)

    def _tear_down(self, following: Optional[Any]) -> None:
        item, self._open = self._open, None
        if item is None:
            return
        try:
            with self._limiter.within(2.0):
                item.ihook.pytest_runtest_teardown(item=item, nextitem=following)
        except BaseException:
            with contextlib.suppress(BaseException):
                item.session._setupstate.teardown_exact(None)
        if hasattr(item, "_request"):
            item._request = False
            item.funcargs = None


def _recorded(item: Any) -> str:
    """What an item of unittest noted in itself: it does not raise."""
    recorded = getattr(item, "_excinfo", None)
    if not recorded:
        return PASS
    item._excinfo = None
    first = recorded[0] if isinstance(recorded, list) else recorded
    kind = getattr(first, "typename", "")
    return SKIP if kind in ("Skipped", "SkipTest") else FAIL
