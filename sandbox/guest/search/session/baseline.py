"""The baseline: the tests that fail and pass here before any edit, and whether they share state."""

from __future__ import annotations

import ast
import inspect
import math
import os
import re
import sys
import textwrap
import time
from fnmatch import fnmatch
from typing import (
    Any,
    Callable,
    Dict,
    FrozenSet,
    List,
    Mapping,
    NamedTuple,
    Sequence,
    Set,
    Tuple,
    TypeVar,
)

from sandbox.guest.search.process.forked import Report, collect
from sandbox.guest.search.process.limits import Limiter
from sandbox.guest.search.process.preload import modules_beside, modules_inside
from sandbox.guest.search.session.harness import FAIL, PASS, SKIP, TIMEOUT, Items, Runner
from sandbox.guest.search.session.plans import make_plans, mutable_parameters
from sandbox.guest.search.session.state_snapshot import StateSnapshot

FIRST_LIMIT_S = 0.5
"""Maximum CPU seconds of a failing test in its first run, enough to show that it hangs."""
NEXT_LIMIT_S = 0.05
"""The same, after another test has hung."""
FIRST_SHARE, SECOND_SHARE = 0.75, 0.9
"""Shares of the time limit at which the first and the second turn end; failing tests always run."""
QUICK_S = 0.025
"""CPU seconds up to which all tests count as equally fast."""
NOT_OURS = ("/site-packages/", "/dist-packages/", "/.venv/", "/venv/", "/.tox/", "/node_modules/")
RAISES = ("raises", "assertRaises", "assertRaisesRegex")
"""Functions by which a test expects an exception."""
MODULE_LISTS = (modules_beside, modules_inside)
"""The modules of this process: from outside the checkout, and those of the checkout."""
Seen = TypeVar("Seen")
LONGEST = 2000
"""Maximum length in characters of a string that is split into words."""

Coverage = Dict[int, Dict[str, Set[int]]]
"""Lines by test and relative path."""


class SuiteBaseline(NamedTuple):
    """The reproduced state of the suite."""

    items: Items
    """Only tests whose outcome here is the reported one."""
    seconds: Dict[int, float]
    """CPU seconds of each test that ended by itself."""
    hung: FrozenSet[int]
    """Failing tests that timed out."""
    isolated: bool
    """True if no failing test fails in screen order: every candidate then needs its own fork."""
    screened: FrozenSet[int] = frozenset()
    """Tests with the same outcome in screen order; the others run only in the confirmation."""
    set_up_s: Mapping[int, float] = {}
    """CPU seconds for setting up fixtures that outlive a test, by the test that needed them first.
    """
    imported: Tuple[str, ...] = ()
    """Modules from outside the checkout that tests imported while running."""
    own_imported: Tuple[str, ...] = ()
    """Modules of the checkout that tests imported while running."""
    marks: Mapping[int, str] = {}
    """The failures of failing tests; see `Runner.mark`."""

    def pace(self, index: int) -> int:
        """Return a speed class of a test, coarse enough to be the same on a busy machine.

        Unknown tests count as slow.
        """
        return int(math.log2(max(self.seconds.get(index, 10.0), QUICK_S) / QUICK_S)) // 2

    def whole_s(self) -> float:
        """Return the known duration of the whole suite, in CPU seconds."""
        return sum(self.seconds.values()) + sum(self.set_up_s.values())


Choice = Callable[[SuiteBaseline], Sequence[int]]


def reproduce(items: Items, test_cpu_s: float, wait_s: float, chosen: Choice) -> SuiteBaseline:
    """Run the known tests as pytest does, then some as the screen does, in one process.

    The state of the process is restored between the turns, as it is between candidates.

    Args:
        items: The tests.
        test_cpu_s: CPU limit of a test, in seconds.
        wait_s: Timeout for all tests together, in seconds.
        chosen: Selects the tests that candidates may run, given the results of the first turn.
    """
    told = collect(SuiteTurns(items, test_cpu_s, wait_s, chosen).work, wait_s)
    imports = [row for row in told if len(row) == len(MODULE_LISTS)]
    beside, own = imports[0] if imports else ((), ())
    return _build_baseline(items, [row for row in told if row not in imports])._replace(
        imported=tuple(beside), own_imported=tuple(name for name in own if isinstance(name, str))
    )


def _build_baseline(items: Items, told: Sequence[Any]) -> SuiteBaseline:
    """Return the baseline from the outcomes of both turns."""
    seconds: Dict[int, float] = {}
    turns: Tuple[Dict[int, str], Dict[int, str]] = ({}, {})
    marks: Tuple[Dict[int, str], Dict[int, str]] = ({}, {})
    set_up: Dict[int, float] = {}
    slow: Set[int] = set()
    for turn, index, outcome, spent, mark, outlived, imports in told:
        turns[turn][index] = outcome
        marks[turn][index] = mark
        set_up[index] = max(outlived, set_up.get(index, 0.0))
        # Children may have to repeat the imports of the first turn, so its time counts.
        if turn == 0 or index not in slow:
            seconds[index] = min(spent, seconds.get(index, spent))
        slow |= {index} if imports else set()
    first, second = turns
    hung = frozenset(i for i in items.failing if first.get(i) == TIMEOUT)
    for index in hung:
        seconds.pop(index, None)
    red = [i for i in items.failing if i in first and first[i] not in (PASS, SKIP)]
    green = [i for i in items.passing if first.get(i) == PASS]
    # A test that fails only because another test has not run before cannot be fixed in the screen.
    fails_the_same = [
        i for i in red if i in hung or (second.get(i) == FAIL and marks[0][i] == marks[1][i])
    ]
    steady = frozenset([*fails_the_same, *(i for i in green if second.get(i) == PASS)])
    isolated = not any(i in steady for i in red)
    return SuiteBaseline(
        Items(items.all, items.names, red, green), seconds, hung, isolated, steady, set_up,
        marks={i: marks[0][i] for i in red},
    )  # fmt: skip


class SuiteTurns:
    """Runs of the unedited tests in a child.

    Args:
        items: The tests.
        test_cpu_s: CPU limit of a test, in seconds.
        wait_s: Timeout for all tests together, in seconds.
        chosen: Selects the tests that candidates may run.
    """

    def __init__(self, items: Items, test_cpu_s: float, wait_s: float, chosen: Choice) -> None:
        self._items = items
        self._chosen = chosen
        self._most = test_cpu_s
        self._wait_s = wait_s
        self._order = sorted([*items.failing, *items.passing])
        self._failing = set(items.failing)
        self._plans = make_plans(items.all, self._order)
        self._snapshot = StateSnapshot(
            session_root(items), mutable_parameters(items.all, self._plans)
        )
        self._hung: Set[int] = set()
        self._clock = time.monotonic  # tests may replace the clock in the module

    def work(self, limiter: Limiter, report: Report) -> None:
        """Run both turns, each in its share of the time."""
        began = self._clock()
        before, root = set(sys.modules), session_root(self._items)
        runner = Runner(self._items.all, limiter)
        done: List[Any] = []
        for index in self._order:
            if index in self._failing or self._clock() - began < FIRST_SHARE * self._wait_s:
                done.append([0, index, *self.run(runner, index)])
                report(done[-1])
        runner.close()
        report([[name for name in names(root) if name not in before] for names in MODULE_LISTS])
        self._snapshot.restore()
        known = _build_baseline(self._items, done)._replace(isolated=False)
        runner = self.runner(limiter)
        for index in self.screen_order(known):
            if index in self._failing or self._clock() - began < SECOND_SHARE * self._wait_s:
                report([1, index, *self.run(runner, index)])
        runner.close()

    def runner(self, limiter: Limiter) -> Runner:
        """Return a runner that runs tests as the screen does."""
        return Runner(self._items.all, limiter, self._plans)

    def screen_order(self, known: SuiteBaseline) -> List[int]:
        """Return the tests of the second turn."""
        red = [i for i in known.items.failing if i not in known.hung]
        return [*red, *(i for i in self._chosen(known) if i not in self._failing)]

    def run(self, runner: Runner, index: int) -> Tuple[str, float, str, float, bool]:
        """Run a test; return outcome, seconds, mark, seconds of set-ups, and if it imported."""
        limit = self._most * 3
        if index in self._failing:
            limit = min(NEXT_LIMIT_S if self._hung else FIRST_LIMIT_S, self._most)
        runner.mark = ""
        before, outlived, known = os.times(), runner.watch.cpu_s, len(sys.modules)
        outcome = runner.run(index, limit)
        after = os.times()
        if outcome == TIMEOUT and index in self._failing:
            self._hung.add(index)
        outlived = runner.watch.cpu_s - outlived
        spent = after.user + after.system - before.user - before.system
        return (
            outcome,
            max(0.0, spent - outlived),
            runner.mark[:300],
            outlived,
            len(sys.modules) != known,
        )


def session_root(items: Items) -> str:
    """Return the root folder of the session."""
    config = items.all[0].config if items.all else None
    return os.path.realpath(
        str(getattr(config, "rootpath", None) or getattr(config, "rootdir", "/nowhere"))
    )


class EditablePaths(NamedTuple):
    """The files of the checkout that count as source."""

    root: str
    protected: Tuple[str, ...]

    def relative(self, filename: str) -> str | None:
        """Return the relative path of a file that may be edited, else None."""
        if not filename.startswith(self.root + os.sep) or any(
            part in filename for part in NOT_OURS
        ):
            return None
        path = os.path.relpath(filename, self.root)
        return None if is_test_file(path) or any(fnmatch(path, p) for p in self.protected) else path


def is_test_file(path: str) -> bool:
    """Return True if a path looks like a test or a test helper, which are never edited."""
    *folders, name = path.split(os.sep)
    if name == "conftest.py" or fnmatch(name, "test_*.py") or fnmatch(name, "*_test.py"):
        return True
    return any(folder in ("tests", "test", "testing") for folder in folders)


def merge_hints(suspects: Sequence[Mapping[str, Any]]) -> Dict[str, Dict[int, float]]:
    """Return the host's suspects as a score by path and line."""
    hints: Dict[str, Dict[int, float]] = {}
    for suspect in suspects:
        lines = hints.setdefault(str(suspect["file"]), {})
        line = int(suspect["line"])
        lines[line] = max(lines.get(line, 0.0), float(suspect["score"]))
    return hints


def names_in(items: Sequence[Any], failing: Sequence[int]) -> Set[str]:
    """Return the names that the code of the failing tests mentions."""
    names: Set[str] = set()
    for index in failing[:20]:
        waiting = [getattr(getattr(items[index], "function", None), "__code__", None)]
        while waiting:
            code = waiting.pop()
            if code is not None:
                names.update(code.co_names)
                waiting += [c for c in code.co_consts if hasattr(c, "co_names")]
    return names


class Literals(NamedTuple):
    """Literals in the failing tests and their parameters."""

    numbers: List[float]
    strings: List[str]
    """Short strings."""
    exceptions: List[str]
    """Names of expected exceptions."""
    messages: List[str]
    """Texts that satisfy the expected messages."""
    words: List[str]
    """Words in all strings."""


def collect_literals(items: Sequence[Any], failing: Sequence[int]) -> Literals:
    """Return the literals in the failing tests and their parameters."""
    found: List[Any] = []
    exceptions: List[str] = []
    messages: List[str] = []
    for index in failing[:10]:
        item = items[index]
        for value in getattr(getattr(item, "callspec", None), "params", {}).values():
            found += _leaves(value)
        try:
            tree = ast.parse(textwrap.dedent(inspect.getsource(item.function)))
        except (OSError, SyntaxError, TypeError, AttributeError):
            continue
        found += [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
        exceptions += expected_exceptions(tree)
        messages += expected_messages(tree)
    numbers = [
        v for v in found if isinstance(v, (int, float)) and not isinstance(v, bool) and abs(v) < 1e9
    ]
    texts = [v for v in found if isinstance(v, str)]
    strings = [text for text in texts if len(text) <= 40]
    words = [
        word for text in texts if len(text) <= LONGEST for word in re.findall(r"[^\W\d_]\w+", text)
    ]
    exceptions += [
        v.__name__ for v in found if isinstance(v, type) and issubclass(v, BaseException)
    ]
    return Literals(
        numbers=_first(numbers, 20),
        strings=_first(strings, 20),
        exceptions=_first(exceptions, 20),
        messages=_first(messages, 20),
        words=_first(words, 40),
    )


def _first(found: Sequence[Seen], most: int) -> List[Seen]:
    return list(dict.fromkeys(found))[:most]


def expected_exceptions(tree: ast.AST) -> List[str]:
    """Return the names of the exceptions that a test expects."""
    names: List[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and node.args and _last_name(node.func) in RAISES:
            first = node.args[0]
            names += [
                _last_name(kind)
                for kind in (first.elts if isinstance(first, ast.Tuple) else [first])
            ]
    return [name for name in dict.fromkeys(names) if name[:1].isupper()]


def expected_messages(tree: ast.AST) -> List[str]:
    """Return texts that match the message patterns of expected exceptions."""
    patterns: List[Any] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _last_name(node.func) in RAISES:
            given = [word.value for word in node.keywords if word.arg == "match"]
            given += node.args[1:2] if "Regex" in _last_name(node.func) else []
            patterns += [value.value for value in given if isinstance(value, ast.Constant)]
    texts = [
        (pattern, re.sub(r"\\(.)", r"\1", pattern).strip("^$"))
        for pattern in patterns
        if isinstance(pattern, str)
    ]
    return [text for pattern, text in texts if text and len(text) <= 80 and _is_met(pattern, text)]


def _is_met(pattern: str, text: str) -> bool:
    try:
        return text.isprintable() and re.search(pattern, text) is not None
    except re.error:
        return False


def _last_name(node: ast.AST) -> str:
    """Return `b` of `a.b`."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _leaves(value: Any, depth: int = 0) -> List[Any]:
    if type(value) in (list, tuple) and depth <= 3:
        return [leaf for inner in value[:6] for leaf in _leaves(inner, depth + 1)]
    return [value]
