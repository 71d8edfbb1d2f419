"""Run single pytest items in a process that has collected them.

Fixtures work as usual, but nothing is reported.
"""

from __future__ import annotations

import contextlib
import sys
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple

from sandbox.guest.failure_detail import Describer
from sandbox.guest.search.process.limits import Limiter, TimeLimitExceeded
from sandbox.guest.search.session.plans import BY_HOOKS, DIRECT, HOOKS, ItemPlan
from sandbox.guest.search.session.watch import FixtureWatch, get_watch, outlives

PASS, FAIL, TIMEOUT, SKIP = "pass", "fail", "timeout", "skip"
SKIPPED = ("Skipped", "SkipTest")
TEAR_DOWN_S = 2.0

OFF = (
    "cov", "pytest_cov", "xdist", "xdist.looponfail", "randomly", "pytest_randomly",
    "rerunfailures", "timeout", "pytest_timeout", "cacheprovider", "faulthandler", "junitxml",
    "pastebin", "benchmark", "sugar", "pytest_sugar", "unraisableexception", "threadexception",
    "flakefinder", "random_order", "instafail", "html", "metadata",
)  # fmt: skip
"""Plugins that would measure, distribute, reorder or repeat tests.

The search runs tests thousands of times.
"""

IGNORED_OPTIONS = (
    ("--cov", "?"), ("--cov-report", 1), ("--cov-config", 1), ("--cov-fail-under", 1),
    ("--cov-context", 1), ("--no-cov", 0), ("--cov-append", 0), ("--cov-branch", 0),
    ("--no-cov-on-fail", 0), ("-n", 1), ("--numprocesses", 1), ("--dist", 1), ("--maxprocesses", 1),
    ("--tx", 1), ("--timeout", 1), ("--timeout-method", 1), ("--session-timeout", 1),
    ("--reruns", 1), ("--reruns-delay", 1), ("--randomly-seed", 1),
    ("--randomly-dont-reorganize", 0), ("--randomly-dont-reset-seed", 0), ("--junitxml", 1),
    ("--junit-xml", 1), ("--junitprefix", 1), ("--cache-clear", 0), ("--lf", 0),
    ("--last-failed", 0), ("--ff", 0), ("--failed-first", 0), ("--nf", 0), ("--sw", 0),
    ("--stepwise", 0), ("--benchmark-skip", 0), ("--benchmark-disable", 0), ("--benchmark-only", 0),
    ("--html", 1), ("--self-contained-html", 0), ("--random-order", 0), ("--instafail", 0),
)  # fmt: skip
"""Options of those plugins, so that a project that sets them still works."""


class IgnoredOptions:
    """Accepts and ignores the options of disabled plugins."""

    def pytest_addoption(self, parser: Any) -> None:
        """Declare the options; one that exists already belongs to an enabled plugin."""
        group = parser.getgroup("metaagent-ignored")
        for name, takes in IGNORED_OPTIONS:
            settings: Dict[str, Any] = (
                {"action": "store_true"} if takes == 0 else {"action": "append"}
            )
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
    """The tests that the search knows, in collection order."""

    all: List[Any]
    names: List[str]
    """Node ids relative to the checkout."""
    failing: List[int]
    passing: List[int]


def find_items(session: Any, root: str, failing: Sequence[str], passing: Sequence[str]) -> Items:
    """Return the session's items with the known failing and passing ones.

    Without any name in `passing`, all others count as passing.
    """
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
    """Runs items in this process; create one per forked child.

    Args:
        items: All items.
        limiter: Limits each test.
        plans: How items may be run; an item without a plan runs with all plugin hooks.
    """

    def __init__(
        self, items: Sequence[Any], limiter: Limiter, plans: Optional[Mapping[int, ItemPlan]] = None
    ) -> None:
        self.items = items
        self._limiter = limiter
        self._plans = plans or {}
        self._open: Optional[Any] = None
        self._hooked = False
        self._last_item: Optional[Any] = None
        self.watch = get_watch(items[0].config) if items else FixtureWatch()
        self.watch.limiter = limiter
        self.mark = ""
        """Type and place of the last failure; failures with equal marks count as the same."""

    def run(self, index: int, cpu_s: float, around: Any = None) -> str:
        """Set up and call a test; it is torn down by the next `run`, by `finish` or by `close`."""
        plan = self._plans.get(index, BY_HOOKS) if around is None else BY_HOOKS
        item = self.items[index]
        if plan.kind == DIRECT:
            return self._bound(lambda: _call(item, plan), cpu_s)
        self._tear_down(item)
        self._open = self._last_item = item
        self._hooked = plan.kind == HOOKS
        vars(item).pop("_excinfo", None)  # pytest appends unittest failures to this list
        self.watch.failed = False
        if self._hooked:
            outcome = self._bound(lambda: _with_hooks(item, around), cpu_s)
        else:
            outcome = self._bound(lambda: _set_up_and_call(item, plan), cpu_s)
        recorded = self._recorded(item)
        if outcome != PASS:
            return outcome
        return FAIL if self.watch.failed else recorded

    def leave(self, following: Optional[int]) -> str:
        """Tear down the last test as pytest does before a following one; return the outcome."""
        return self._tear_down(None if following is None else self.items[following])

    def finish(self) -> None:
        """Tear down the last test; fixtures that outlive it stay."""
        if self._open is not None:
            self._tear_down(self._open.parent)

    def close(self) -> None:
        """Tear down everything that is still set up."""
        self._tear_down(None)
        item, self._last_item = self._last_item, None
        if item is not None:
            self._bound(lambda: _down_to(item, None), TEAR_DOWN_S)

    def outliving(self, index: int) -> List[Any]:
        """Return the values of fixtures that outlive a test, as they are set up now."""
        known = getattr(getattr(self.items[index], "_fixtureinfo", None), "name2fixturedefs", {})
        results = [getattr(d, "cached_result", None) for found in known.values() for d in found]
        return [result[0] for result in results if result]

    def list_outliving(self, index: int) -> Tuple[Any, Set[Any]]:
        """Return the collector of a test, and the fixtures it names that outlive it."""
        item = self.items[index]
        known = getattr(getattr(item, "_fixtureinfo", None), "name2fixturedefs", {})
        named = {d for found in known.values() for d in found if outlives(d, item)}
        return getattr(item, "parent", None), named

    def _tear_down(self, following: Optional[Any]) -> str:
        """Tear down to the collectors of the following item, which may be a collector itself."""
        item, self._open = self._open, None
        if item is None:
            return PASS
        if self._hooked:
            outcome = self._bound(
                lambda: item.ihook.pytest_runtest_teardown(item=item, nextitem=following),
                TEAR_DOWN_S,
            )
        else:
            outcome = self._bound(lambda: _down_to(item, following), TEAR_DOWN_S)
        if outcome != PASS:
            self._bound(lambda: _down_to(item, None), TEAR_DOWN_S)
        _forget(item)
        return outcome

    def _recorded(self, item: Any) -> str:
        """Return the outcome that an item of unittest recorded, because it does not raise."""
        recorded = getattr(item, "_excinfo", None)
        if not recorded:
            return PASS
        vars(item).pop("_excinfo", None)
        first = recorded[0] if isinstance(recorded, list) else recorded
        if isinstance(getattr(first, "value", None), BaseException):
            self.mark = failure_mark(first.value)
        return SKIP if getattr(first, "typename", "") in SKIPPED else FAIL

    def _bound(self, call: Callable[[], Any], cpu_s: float) -> str:
        """Call within a time limit; return the outcome."""
        limiter = self._limiter
        outcome = FAIL
        try:
            try:
                limiter.arm(cpu_s)
                call()
                limiter.disarm()
                outcome = PASS
            except TimeLimitExceeded:
                outcome = TIMEOUT
            except BaseException as error:
                limiter.disarm()
                self.mark = failure_mark(error)
                outcome = SKIP if type(error).__name__ in SKIPPED else FAIL
            limiter.disarm()
        except BaseException:  # the limit was reached in the lines above
            limiter.disarm()
            return TIMEOUT
        # Code that swallows the limit has used its time nevertheless.
        return TIMEOUT if limiter.exceeded else outcome


def _call(item: Any, plan: ItemPlan) -> None:
    values = plan.values or {}
    if plan.fresh:
        getattr(item.cls(), item.originalname)(**values)
    else:
        item.obj(**values)


def _set_up_and_call(item: Any, plan: ItemPlan) -> None:
    _ready(item)
    state = item.session._setupstate
    (state.setup if hasattr(state, "setup") else state.prepare)(item)
    if plan.calls:
        funcargs = item.funcargs
        item.obj(**{name: funcargs[name] for name in plan.arguments})
    else:
        item.runtest()


def _with_hooks(item: Any, around: Any) -> None:
    """Set up and call inside one trace, because fixtures run the program too."""
    _ready(item)

    def whole() -> None:
        # Without the protocol hook no report is made.
        item.ihook.pytest_runtest_setup(item=item)
        item.ihook.pytest_runtest_call(item=item)

    if around is None:
        whole()
    else:
        around(whole)


def _down_to(item: Any, following: Optional[Any]) -> None:
    state = item.session._setupstate
    if hasattr(state, "prepare"):  # pytest before 7
        state.teardown_exact(item, following)
    else:
        state.teardown_exact(following)


def _ready(item: Any) -> None:
    if hasattr(item, "_request") and not item._request:
        item._initrequest()
    key = getattr(sys.modules.get("_pytest.tmpdir"), "tmppath_result_key", None)
    if key is not None:  # reports would set this, and `tmp_path` needs it in its teardown
        item.stash[key] = {"setup": True, "call": True}


def _forget(item: Any) -> None:
    """Reset an item, so that its next run starts clean."""
    if hasattr(item, "_request"):
        item._request = False
        item.funcargs = None
    if getattr(item, "cls", None) is not None:
        item.__dict__.pop("_instance", None)
        item.__dict__.pop("_obj", None)


def failure_mark(error: BaseException) -> str:
    """Return the type of an error and the line that raised it."""
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    place = f"{at.tb_frame.f_code.co_filename}:{at.tb_lineno}" if at is not None else ""
    return f"{type(error).__name__} {place}"
