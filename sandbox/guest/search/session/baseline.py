"""What is true before any edit: which tests fail and pass here, and whether they share state."""

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
from typing import Any, Callable, Dict, FrozenSet, List, Mapping, NamedTuple, Sequence, Set, Tuple, TypeVar

from sandbox.guest.search.process.forked import Report, collect
from sandbox.guest.search.process.limits import Limiter
from sandbox.guest.search.process.warm import modules_beside
from sandbox.guest.search.session.harness import FAIL, PASS, SKIP, TIMEOUT, Items, Runner
from sandbox.guest.search.session.leftovers import Leftovers
from sandbox.guest.search.session.plans import mutable_parameters, plans_of

FIRST_LIMIT_S = 0.5
"""What a failing test may take the first time; one that hangs needs no longer to prove it."""
NEXT_LIMIT_S = 0.05
"""The same, once one of them has hung."""
FIRST_SHARE, SECOND_SHARE = 0.75, 0.9
"""Of the time to reproduce: when the first turn, and when the second has to end; failing tests are always run."""
QUICK_S = 0.025
"""Tests that take no longer are all alike."""
NOT_OURS = ("/site-packages/", "/dist-packages/", "/.venv/", "/venv/", "/.tox/", "/node_modules/")
RAISES = ("raises", "assertRaises", "assertRaisesRegex")
Seen = TypeVar("Seen")
LONGEST = 2000
"""Characters of a string whose words are looked at."""
"""What a test calls to say that something is to be raised."""

Coverage = Dict[int, Dict[str, Set[int]]]
"""Test to file (relative) to lines."""


class Baseline(NamedTuple):
    """The reproduced state of the suite."""

    items: Items
    """Only tests that behaved here as they were said to."""
    seconds: Dict[int, float]
    """CPU seconds of each test that ended by itself."""
    hung: FrozenSet[int]
    """Failing tests that ran out of time."""
    isolated: bool
    """No failing test fails in the order and the way of the screen: every candidate needs a fork of its own."""
    screened: FrozenSet[int] = frozenset()
    """Tests that say the same in the order and the way of the screen; the others are met when a fix is confirmed."""
    set_up_s: Mapping[int, float] = {}
    """CPU seconds of setting up what outlives a test, by the test that needed it first; not part of the others."""
    imported: Tuple[str, ...] = ()
    """Modules beside the checkout that tests imported as they ran."""

    def pace(self, index: int) -> int:
        """How slow a test is, told so coarsely that a busy machine says the same; what is not known is slow."""
        return int(math.log2(max(self.seconds.get(index, 10.0), QUICK_S) / QUICK_S)) // 2

    def whole_s(self) -> float:
        """What the whole suite takes, as far as it is known."""
        return sum(self.seconds.values()) + sum(self.set_up_s.values())


Choice = Callable[[Baseline], Sequence[int]]


def reproduce(items: Items, test_cpu_s: float, wait_s: float, chosen: Choice) -> Baseline:
    """Run the known tests as pytest does, and those of the screen once more as the screen does, in one process.

    Between the turns the process is put back as it was, as it is between candidates.

    Args:
        items: The tests.
        test_cpu_s: What a test may take.
        wait_s: What all may take together.
        chosen: The tests that candidates may meet, once it is known how the others did.
    """
    told = collect(_Turns(items, test_cpu_s, wait_s, chosen).work, wait_s)
    imported = [name for row in told if len(row) == 1 for name in row[0]]
    return _judged(items, [row for row in told if len(row) > 1])._replace(imported=tuple(imported))


def _judged(items: Items, told: Sequence[Any]) -> Baseline:
    """What is to be made of what the tests did."""
    seconds: Dict[int, float] = {}
    turns: Tuple[Dict[int, str], Dict[int, str]] = ({}, {})
    marks: Tuple[Dict[int, str], Dict[int, str]] = ({}, {})
    set_up: Dict[int, float] = {}
    slow: Set[int] = set()
    for turn, index, outcome, spent, mark, outlived, imports in told:
        turns[turn][index] = outcome
        marks[turn][index] = mark
        set_up[index] = max(outlived, set_up.get(index, 0.0))
        # Children may have to import again what the first turn did.
        if turn == 0 or index not in slow:
            seconds[index] = min(spent, seconds.get(index, spent))
        slow |= {index} if imports else set()
    first, second = turns
    hung = frozenset(i for i in items.failing if first.get(i) == TIMEOUT)
    for index in hung:
        seconds.pop(index, None)
    red = [i for i in items.failing if i in first and first[i] not in (PASS, SKIP)]
    green = [i for i in items.passing if first.get(i) == PASS]
    # A test that fails for want of another test before it fails elsewhere, and cannot be mended there.
    fails_the_same = [i for i in red if i in hung or (second.get(i) == FAIL and marks[0][i] == marks[1][i])]
    steady = frozenset([*fails_the_same, *(i for i in green if second.get(i) == PASS)])
    isolated = not any(i in steady for i in red)
    return Baseline(Items(items.all, items.names, red, green), seconds, hung, isolated, steady, set_up)


class _Turns:
    """What the child of `reproduce` does.

    Args:
        items: The tests.
        test_cpu_s: What a test may take.
        wait_s: What all may take together.
        chosen: The tests that candidates may meet.
    """

    def __init__(self, items: Items, test_cpu_s: float, wait_s: float, chosen: Choice) -> None:
        self._items = items
        self._chosen = chosen
        self._most = test_cpu_s
        self._wait_s = wait_s
        self._order = sorted([*items.failing, *items.passing])
        self._failing = set(items.failing)
        self._plans = plans_of(items.all, self._order)
        self._leftovers = Leftovers(root_of(items), mutable_parameters(items.all, self._plans))
        self._hung: Set[int] = set()
        self._clock = time.monotonic  # tests may put another into the module

    def work(self, limiter: Limiter, report: Report) -> None:
        """Both turns, each in its share of the time."""
        began = self._clock()
        before = set(sys.modules)
        runner = Runner(self._items.all, limiter)
        done: List[Any] = []
        for index in self._order:
            if index in self._failing or self._clock() - began < FIRST_SHARE * self._wait_s:
                done.append([0, index, *self._run(runner, index)])
                report(done[-1])
        runner.close()
        report([[name for name in modules_beside(root_of(self._items)) if name not in before]])
        self._leftovers.put_back()
        runner = Runner(self._items.all, limiter, self._plans)
        known = _judged(self._items, done)._replace(isolated=False)
        red = [i for i in known.items.failing if i not in known.hung]
        for index in [*red, *(i for i in self._chosen(known) if i not in self._failing)]:
            if index in self._failing or self._clock() - began < SECOND_SHARE * self._wait_s:
                report([1, index, *self._run(runner, index)])
        runner.close()

    def _run(self, runner: Runner, index: int) -> Tuple[str, float, str, float, bool]:
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
        return outcome, max(0.0, spent - outlived), runner.mark[:300], outlived, len(sys.modules) != known


def root_of(items: Items) -> str:
    """The folder of the session."""
    config = items.all[0].config if items.all else None
    return os.path.realpath(str(getattr(config, "rootpath", None) or getattr(config, "rootdir", "/nowhere")))


class Reach(NamedTuple):
    """Which files of the checkout count as source."""

    root: str
    protected: Tuple[str, ...]

    def relative(self, filename: str) -> str | None:
        """The path below the checkout of a file that may be edited, else None."""
        if not filename.startswith(self.root + os.sep) or any(part in filename for part in NOT_OURS):
            return None
        path = os.path.relpath(filename, self.root)
        return None if is_test_file(path) or any(fnmatch(path, p) for p in self.protected) else path


def is_test_file(path: str) -> bool:
    """Whether a path looks like a test or its helper; these are never edited."""
    *folders, name = path.split(os.sep)
    if name == "conftest.py" or fnmatch(name, "test_*.py") or fnmatch(name, "*_test.py"):
        return True
    return any(folder in ("tests", "test", "testing") for folder in folders)


def merge_hints(suspects: Sequence[Mapping[str, Any]]) -> Dict[str, Dict[int, float]]:
    """The host's suspects as path to line to score."""
    hints: Dict[str, Dict[int, float]] = {}
    for suspect in suspects:
        lines = hints.setdefault(str(suspect["file"]), {})
        line = int(suspect["line"])
        lines[line] = max(lines.get(line, 0.0), float(suspect["score"]))
    return hints


def names_in(items: Sequence[Any], failing: Sequence[int]) -> Set[str]:
    """Names that the code of the failing tests mentions."""
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
    """What stands in the failing tests, or in their parameters."""

    numbers: List[float]
    strings: List[str]
    """Short ones."""
    exceptions: List[str]
    """Names of those they expect."""
    messages: List[str]
    """Texts that those must carry."""
    words: List[str]
    """Of all strings."""


def literals_of(items: Sequence[Any], failing: Sequence[int]) -> Literals:
    """What stands in the failing tests, or in their parameters."""
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
    numbers = [v for v in found if isinstance(v, (int, float)) and not isinstance(v, bool) and abs(v) < 1e9]
    texts = [v for v in found if isinstance(v, str)]
    strings = [text for text in texts if len(text) <= 40]
    words = [word for text in texts if len(text) <= LONGEST for word in re.findall(r"[^\W\d_]\w+", text)]
    exceptions += [v.__name__ for v in found if isinstance(v, type) and issubclass(v, BaseException)]
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
    """Names of the exceptions that a test's code says are to be raised."""
    names: List[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and node.args and _last_name(node.func) in RAISES:
            first = node.args[0]
            names += [_last_name(kind) for kind in (first.elts if isinstance(first, ast.Tuple) else [first])]
    return [name for name in dict.fromkeys(names) if name[:1].isupper()]


def expected_messages(tree: ast.AST) -> List[str]:
    """Texts that satisfy the patterns which a test's code holds against an exception's words."""
    patterns: List[Any] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _last_name(node.func) in RAISES:
            given = [word.value for word in node.keywords if word.arg == "match"]
            given += node.args[1:2] if "Regex" in _last_name(node.func) else []
            patterns += [value.value for value in given if isinstance(value, ast.Constant)]
    texts = [
        (pattern, re.sub(r"\\(.)", r"\1", pattern).strip("^$")) for pattern in patterns if isinstance(pattern, str)
    ]
    return [text for pattern, text in texts if text and len(text) <= 80 and _is_met(pattern, text)]


def _is_met(pattern: str, text: str) -> bool:
    try:
        return text.isprintable() and re.search(pattern, text) is not None
    except re.error:
        return False


def _last_name(node: ast.AST) -> str:
    """`b` of `a.b`."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _leaves(value: Any, depth: int = 0) -> List[Any]:
    if type(value) in (list, tuple) and depth <= 3:
        return [leaf for inner in value[:6] for leaf in _leaves(inner, depth + 1)]
    return [value]
