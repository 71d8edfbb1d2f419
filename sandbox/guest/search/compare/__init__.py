"""Compare all survivors with each other and with the unedited program, beyond the tests."""

from __future__ import annotations

import os
import time
from typing import Any, Callable, Dict, List, Optional, Sequence, Set, Tuple

from sandbox.guest.search.compare.alternatives import Alternative
from sandbox.guest.search.compare.line_runs import count_line_runs
from sandbox.guest.search.compare.mutants import kill_count
from sandbox.guest.search.compare.naturalness import MOST_BYTES, Language, surprise
from sandbox.guest.search.compare.patched import new_lines
from sandbox.guest.search.compare.phase import Phase
from sandbox.guest.search.process.forked import Report, collect
from sandbox.guest.search.process.limits import Limiter, slowdown
from sandbox.guest.search.session.baseline import NOT_OURS

__all__ = ["Alternative", "compare"]

LEAST_S = 0.3
MOST_S, MOST_WALL_S = 10.0, 40.0
"""Maximum CPU time, and maximum wall time on a busy machine, in seconds; one second is typical."""
OBSERVING = 0.7
"""Share of the time for calls; the rest is for mutants of the patched lines."""
READING_S = 2.0
MOST_MUTATED = 2
"""Maximum number of behavioural clusters whose patched lines are mutated."""
MUTATING_S = 1.0
"""Time for the mutants of one cluster on an idle machine, in seconds."""
RUNNING_S, RUNNING = 1.0, 0.3
"""Time for counting the runs of the new lines of all survivors: seconds on an idle machine, and the
maximum share of the time left."""
FILES = 400


def compare(
    facts: Any, survivors: Sequence[Alternative], seconds: float
) -> Optional[Dict[str, Any]]:
    """Return the `compared` event, or None if there was no time.

    Args:
        facts: What is known from the collected tests.
        survivors: The survivors in the order of their events.
        seconds: Timeout.
    """
    if not survivors or seconds < LEAST_S:
        return None
    deadline = time.monotonic() + min(seconds, MOST_WALL_S)

    def left() -> float:
        return deadline - time.monotonic()

    told = _observe(facts, survivors, OBSERVING * left())
    for profile, usual in zip(
        told["profiles"], _naturalness(facts.root, survivors, min(READING_S, 0.5 * left()))
    ):
        profile["surprise"], profile["donor"] = usual
    for profile, one in zip(told["profiles"], survivors):
        profile["passing_there"] = count_passing_at_change(facts, one)
    _count_line_runs(facts, survivors, told["profiles"], left)
    _count_kills(facts, survivors, told, left)
    told["kind"] = "compared"
    told["held_out"] = len(facts.items.passing) - len(_screened_tests(facts, survivors))
    told["failing"] = len(facts.items.failing)
    told["failing_lines"] = len(lines_run(facts, facts.items.failing))
    return told


def lines_run(facts: Any, tests: Sequence[int]) -> Set[Tuple[str, int]]:
    """Return the lines of the project that traced tests run."""
    seen = [facts.coverage.get(test, {}) for test in tests]
    return {(path, line) for lines_of in seen for path, lines in lines_of.items() for line in lines}


def _screened_tests(facts: Any, survivors: Sequence[Alternative]) -> Set[int]:
    """Return the passing tests that such a candidate runs before its confirmation."""
    return {
        index for one in survivors for unit in one.units for index in facts.passing_through(unit)
    }


def count_passing_at_change(facts: Any, one: Alternative) -> Optional[int]:
    """Return the number of traced passing tests on a survivor's changed lines.

    Return None if the edit is outside functions.
    """
    if not one.units:
        return None
    sources = {unit.source.path: unit.source.data for unit in one.units}
    changed = {
        path: new_lines(one.files[path], old) for path, old in sources.items() if path in one.files
    }
    return sum(
        any(
            not lines.isdisjoint(facts.coverage.get(test, {}).get(path, ()))
            for path, lines in changed.items()
        )
        for test in facts.items.passing
    )


def _observe(facts: Any, survivors: Sequence[Alternative], wait_s: float) -> Dict[str, Any]:
    count = facts.request.compare_inputs

    def work(limiter: Limiter, report: Report) -> None:
        seconds = 0.9 * min(wait_s, OBSERVING * MOST_S)
        report(Phase(facts, survivors, seconds, wall_s=0.9 * wait_s, count=count).run(limiter))

    reports = collect(work, wait_s, facts.screen.bounds)
    return _validate(reports[-1] if reports else None, len(survivors))


def _validate(told: Any, count: int) -> Dict[str, Any]:
    """Validate a child's result: it ran untrusted code and may contain anything."""
    nothing: List[Dict[str, Any]] = [{} for _ in range(count)]
    alone: Dict[str, Any] = {
        "clusters": list(range(count)), "profiles": nothing, "differences": [], "inputs": 0,
        "calls": [], "recognized": [],
    }  # fmt: skip
    if not isinstance(told, dict) or set(told) != set(alone):
        return alone
    clusters, profiles = told["clusters"], told["profiles"]
    sound = (
        isinstance(clusters, list)
        and isinstance(profiles, list)
        and len(clusters) == len(profiles) == count
    )
    return told if sound and all(isinstance(profile, dict) for profile in profiles) else alone


def _naturalness(root: str, survivors: Sequence[Alternative], wait_s: float) -> List[Any]:
    """Return surprise and donor of each survivor.

    They are computed in a child, because the sources are untrusted.
    """

    def work(_limiter: Limiter, report: Report) -> None:
        languages: Dict[str, Language] = {}
        for one in survivors:
            told = [0.0, False]
            for path, new in sorted(one.files.items()):
                old = _read(os.path.join(root, path))
                if path not in languages:
                    languages[path] = Language(_sources(root, path), old)
                bits, donor = surprise(languages[path], old, new)
                told = [told[0] + bits, told[1] or donor]
            report(told)

    reports = collect(work, wait_s)
    sound = [
        r for r in reports if isinstance(r, list) and len(r) == 2 and isinstance(r[0], (int, float))
    ]
    return [*sound, *([0.0, False] for _ in range(len(survivors) - len(sound)))]


def _sources(root: str, path: str) -> List[bytes]:
    """Return the edited file, its neighbours and other files, up to a size limit."""
    beside = os.path.dirname(path)
    names: List[str] = []
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(
            name for name in folders if not name.startswith(".") and f"/{name}/" not in NOT_OURS
        )
        names += [
            os.path.relpath(os.path.join(folder, name), root)
            for name in sorted(files)
            if name.endswith(".py")
        ]
        if len(names) > FILES:
            break
    names.sort(key=lambda name: (name != path, os.path.dirname(name) != beside, name))
    found: List[bytes] = []
    total = 0
    for name in names:
        data = _read(os.path.join(root, name))
        total += len(data)
        if total > MOST_BYTES:
            break
        found.append(data)
    return found


def _read(filename: str) -> bytes:
    try:
        with open(filename, "rb") as file:
            return file.read(MOST_BYTES)
    except OSError:
        return b""


def _count_line_runs(
    facts: Any,
    survivors: Sequence[Alternative],
    profiles: Sequence[Dict[str, Any]],
    left: Callable[[], float],
) -> None:
    """Count how often tests run the new lines of each survivor."""
    ends = time.monotonic() + min(RUNNING_S * slowdown(), RUNNING * left())
    for number, (one, profile) in enumerate(zip(survivors, profiles)):
        rest = ends - time.monotonic()
        # Most need far less than their share, so a slow one may use more of the rest.
        wait_s = max(rest / (len(survivors) - number), 0.4 * rest)
        if wait_s > 0.05:
            profile.update(count_line_runs(facts, one, wait_s))


def _count_kills(
    facts: Any, survivors: Sequence[Alternative], told: Dict[str, Any], left: Callable[[], float]
) -> None:
    """Count the mutants killed at the first survivor of each of the first clusters.

    The other survivors of a cluster share its result.
    """
    clusters = told["clusters"]
    most = MUTATING_S * slowdown()
    for cluster in list(dict.fromkeys(clusters))[:MOST_MUTATED]:
        first = clusters.index(cluster)
        counts = kill_count(facts, survivors[first], min(most, left())) if left() > 0.2 else None
        if counts is None:
            continue
        for number, profile in enumerate(told["profiles"]):
            if clusters[number] == cluster:
                profile["mutants_killed"], profile["mutants"] = counts
