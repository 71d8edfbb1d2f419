"""Runs inside the sandbox: CPU seconds of trying the same candidates in several ways; prints one line of JSON.

Arguments: the folder of the guest's code, how many candidates, how many of them by plain pytest.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import resource
import subprocess
import sys
import time
import types
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

PYTEST = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]


def cpu_s() -> float:
    """Of this process and of all its children that ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


class Figures:
    """CPU seconds and numbers, by the name of a way."""

    def __init__(self) -> None:
        self.ways: dict[str, dict[str, float]] = {}

    def take(self, way: str, count: int, work: Callable[[], Any]) -> Any:
        """Do something, and note what so many candidates cost."""
        before, began = cpu_s(), time.monotonic()
        result = work()
        spent = cpu_s() - before
        self.ways[way] = {
            "candidates": count,
            "cpu_ms_each": round(1000 * spent / max(1, count), 3),
            "per_cpu_s": round(count / spent, 1) if spent else 0.0,
            "wall_s": round(time.monotonic() - began, 2),
        }
        return result


class Measurement:
    """A pytest plugin that measures where pytest would run the tests.

    Args:
        wanted: The request of a search.
        count: How many candidates.
        plain: How many of them are tried by plain pytest as well.
    """

    def __init__(self, wanted: dict[str, Any], count: int, plain: int) -> None:
        from sandbox.guest.search.candidates.templates import load_templates
        from sandbox.guest.search.context.suite_facts import SearchJob

        self._request = SearchJob.read({**wanted, "root": str(Path.cwd())})
        self._templates = load_templates()
        self._count = count
        self._plain = plain
        self.figures = Figures()
        self.told: dict[str, Any] = {}
        self.failure: BaseException | None = None

    def pytest_runtestloop(self, session: Any) -> bool:
        """Everything is collected."""
        try:
            self._measure(session)
        except BaseException as error:  # noqa: BLE001  # pytest would swallow it
            self.failure = error
        return True

    def _measure(self, session: Any) -> None:
        from sandbox.guest.search.context.suite_facts import measure_suite

        facts = measure_suite(session, self._request, self._templates, lambda: 600.0)
        self._facts = facts
        self.told["tests"] = len(facts.items.all)
        self.told["failing"] = len(facts.items.failing)
        candidates = self._candidates()
        trials = self.figures.take(
            "compile and sort out equals", len(candidates), lambda: self._trials(candidates)
        )
        self.told["different"] = len(trials)
        few = trials[:: max(1, len(trials) // 40)][:40]
        gc.collect()
        self.figures.take("c: fork, exit, wait", len(few), lambda: [_fork() for _ in few])
        self.figures.take(
            "d: fork for each candidate", len(few), lambda: self._screened(few, 1, share=False)
        )
        verdicts = self.figures.take(
            "e: chunks", len(trials), lambda: self._screened(trials, 0, share=False)
        )
        shared = self.figures.take(
            "f: shared execution", len(trials), lambda: self._screened(trials, 0, share=True)
        )
        found = self.figures.take(
            "g: as the search does it", len(trials), lambda: self._screened(trials, 0, share=None)
        )
        self.told["screens differ"] = [
            trial.candidate.description
            for trial, a, b in zip(trials, verdicts, shared, strict=True)
            if (a[0], a[1]) != (b[0], b[1])
        ][:20]
        self._agree(trials, verdicts, shared, found)

    def _candidates(self) -> list[Any]:
        """The first ones, and as many spread over everything that can be generated."""
        facts = self._facts
        before = cpu_s()
        found = list(facts.generator.best_first(facts.units[:1], facts.suspicion, facts.literals))
        spent = cpu_s() - before
        self.told["generated"] = len(found)
        self.told["generation_cpu_ms_each"] = round(1000 * spent / max(1, len(found)), 3)
        half = self._count // 2
        return [*found[:half], *found[half :: max(1, (len(found) - half) // half)]][: self._count]

    def _trials(self, candidates: Sequence[Any]) -> list[Any]:
        from sandbox.guest.search.execution.screen import Trial
        from sandbox.guest.search.source.functions import signature

        facts, seen, trials = self._facts, set(), []
        for candidate in candidates:
            unit = candidate.unit
            code = unit.compile(candidate.edits)
            if code is None or (key := signature(code)) in seen:
                continue
            seen.add(key)
            swaps = facts.live.swaps(unit, code)
            trials.append(
                Trial(candidate, swaps, facts.failing_through(unit), facts.passing_through(unit))
            )
        return trials

    def _screened(
        self, trials: Sequence[Any], size: int, *, share: bool | None
    ) -> list[tuple[str, tuple[int, ...]]]:
        from sandbox.guest.search.execution.screen import Chunk

        screen = self._facts.screen
        screen.share = share
        verdicts: list[Any] = []
        while len(verdicts) < len(trials):
            some = trials[len(verdicts) : len(verdicts) + (size or screen.chunk_size())]
            verdicts += Chunk(screen, some, 1.0).results(lambda: 600.0)
        return [(v.outcome, tuple(sorted(v.fixed))) for v in verdicts]

    def _agree(
        self, trials: Sequence[Any], *verdicts: Sequence[tuple[str, tuple[int, ...]]]
    ) -> None:
        """Confirmed survivors, and some that were rejected, by plain pytest: one process each."""
        facts = self._facts
        passed = sorted({n for found in verdicts for n, v in enumerate(found) if v[0] == "pass"})
        failing = len(facts.items.failing)
        survivors = self.figures.take(
            "confirm a survivor", len(passed),
            lambda: [n for n in passed if len(facts.screen.confirm(trials[n].swaps, 60.0)) == failing],
        )  # fmt: skip
        others = [n for n in range(len(trials)) if n not in survivors]
        sample = others[:: max(1, len(others) // max(1, self._plain))][: self._plain]
        chosen = sorted([*survivors[: self._plain], *sample])
        plain = self.figures.take(
            "a: one pytest process each", len(chosen), lambda: [_plain(trials[n]) for n in chosen]
        )
        self.told["survivors"] = len(survivors)
        self.told["compared with plain pytest"] = len(chosen)
        self.told["disagreements"] = [
            trials[n].candidate.description
            for n, ok in zip(chosen, plain, strict=True)
            if ok != (n in survivors)
        ]


def _fork() -> int:
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    return os.waitpid(pid, 0)[1]


def _plain(trial: Any) -> bool:
    """Whether all tests pass with the edit in the file."""
    candidate = trial.candidate
    path = Path(candidate.source.path)
    path.write_bytes(candidate.source.render(candidate.edits))
    try:
        return subprocess.run(PYTEST, capture_output=True, timeout=120, check=False).returncode == 0
    except subprocess.TimeoutExpired:
        return False
    finally:
        path.write_bytes(candidate.source.data)


def mutmut() -> dict[str, Any]:
    """What mutmut's own runner needs for its mutants of the same function."""
    before, began = cpu_s(), time.monotonic()
    command = [sys.executable, "-m", "mutmut", "run", "--max-children", "1"]
    done = subprocess.run(command, capture_output=True, timeout=280, check=False)
    spent = cpu_s() - before
    out = done.stdout.decode("utf-8", "replace")
    made = len(list(Path("mutants").glob("**/*.meta")))
    counts = [
        part.split("/")[1].split()[0]
        for part in out.replace("\r", "\n").split("\n")
        if _is_count(part)
    ]
    if not counts or not int(counts[-1]):
        return {
            "per_cpu_s": None,
            "because": out[-400:] or done.stderr.decode("utf-8", "replace")[-400:],
            "files": made,
        }
    count = int(counts[-1])
    return {
        "candidates": count, "cpu_ms_each": round(1000 * spent / count, 1), "per_cpu_s": round(count / spent, 2),
        "wall_s": round(time.monotonic() - began, 2),
    }  # fmt: skip


def _is_count(part: str) -> bool:
    pieces = part.split()
    return any(piece.count("/") == 1 and piece.replace("/", "").isdigit() for piece in pieces)


def main() -> None:
    """Measure in the working directory."""
    if sys.argv[1] == "mutmut":
        print(json.dumps(mutmut()))
        return
    guest, count, plain = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    for name, folder in (("sandbox", str(Path(guest).parent)), ("sandbox.guest", guest)):
        module = types.ModuleType(name)
        module.__path__ = [folder]
        sys.modules[name] = module
    import pytest

    from sandbox.guest.search.session.harness import OFF, IgnoredOptions

    meta = json.loads(Path("meta.json").read_text())
    wanted = {
        "failing": meta["failing"], "passing": meta["passing"], "protected": ["test_*.py"], "time_limit_s": 600.0,
    }  # fmt: skip
    measurement = Measurement(wanted, count, plain)
    off = [argument for name in OFF for argument in ("-p", f"no:{name}")]
    with Path(os.devnull).open("w") as nowhere, contextlib.redirect_stdout(nowhere):
        pytest.main([*off, "-s", "--assert=plain", "-q"], plugins=[IgnoredOptions(), measurement])
    if measurement.failure is not None:
        raise measurement.failure
    print(json.dumps({**measurement.told, "ways": measurement.figures.ways}))


if __name__ == "__main__":
    main()
