"""What is true before any edit: which tests fail and pass here, and whether they share state."""

from __future__ import annotations

import ast
import inspect
import os
import textwrap
from fnmatch import fnmatch
from typing import Any, Dict, FrozenSet, List, Mapping, NamedTuple, Sequence, Set, Tuple

from sandbox.guest.search.forked import Report, collect
from sandbox.guest.search.harness import PASS, SKIP, TIMEOUT, Items, Runner
from sandbox.guest.search.limits import Limiter

FIRST_LIMIT_S = 0.5
"""What a failing test may take the first time; one that hangs needs no longer to prove it."""
NEXT_LIMIT_S = 0.05
"""The same, once one of them has hung."""
NOT_OURS = ("/site-packages/", "/dist-packages/", "/.venv/", "/venv/", "/.tox/", "/node_modules/")

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
    """A second run in the same process went otherwise: tests share state."""


def reproduce(items: Items, test_cpu_s: float, wait_s: float) -> Baseline:
    """Run the known tests twice in one process, in their original order."""
    order = sorted([*items.failing, *items.passing])
    failing = set(items.failing)

    def work(limiter: Limiter, report: Report) -> None:
        runner = Runner(items.all, limiter)
        hung: Set[int] = set()
        for turn in (0, 1):
            for index in order:
                if index in hung:
                    continue
                limit = test_cpu_s * 3
                if index in failing:
                    limit = min(NEXT_LIMIT_S if hung else FIRST_LIMIT_S, test_cpu_s)
                before = os.times()
                outcome = runner.run(index, limit)
                after = os.times()
                spent = after.user + after.system - before.user - before.system
                if outcome == TIMEOUT and index in failing:
                    hung.add(index)
                report([turn, index, outcome, spent])
            runner.close()

    first: Dict[int, str] = {}
    seconds: Dict[int, float] = {}
    isolated = False
    for turn, index, outcome, spent in collect(work, wait_s):
        if turn == 0:
            first[index] = outcome
            seconds[index] = spent
        else:
            isolated = isolated or first.get(index) != outcome
            seconds[index] = min(spent, seconds.get(index, spent))
    hung = frozenset(i for i in items.failing if first.get(i) == TIMEOUT)
    for index in hung:
        seconds.pop(index, None)
    red = [i for i in items.failing if first.get(i) not in (PASS, SKIP)]
    green = [i for i in items.passing if first.get(i) == PASS]
    return Baseline(Items(items.all, items.names, red, green), seconds, hung, isolated)


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


def literals_of(items: Sequence[Any], failing: Sequence[int]) -> Tuple[List[float], List[str]]:
    """Numbers and short strings that stand in the failing tests or in their parameters."""
    found: List[Any] = []
    for index in failing[:10]:
        item = items[index]
        for value in getattr(getattr(item, "callspec", None), "params", {}).values():
            found += _leaves(value)
        try:
            tree = ast.parse(textwrap.dedent(inspect.getsource(item.function)))
        except (OSError, SyntaxError, TypeError, AttributeError):
            continue
        found += [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    numbers = [v for v in found if isinstance(v, (int, float)) and not isinstance(v, bool) and abs(v) < 1e9]
    strings = [v for v in found if isinstance(v, str) and len(v) <= 40]
    return list(dict.fromkeys(numbers))[:20], list(dict.fromkeys(strings))[:20]


def _leaves(value: Any, depth: int = 0) -> List[Any]:
    if type(value) in (list, tuple) and depth <= 3:
        return [leaf for inner in value[:6] for leaf in _leaves(inner, depth + 1)]
    return [value]
