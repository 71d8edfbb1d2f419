"""The comparison inside its child: record, vary, observe and judge; returns one JSON value."""

from __future__ import annotations

import itertools
import os
import time
import types
from typing import Any, Dict, List, Optional, Sequence

from sandbox.guest.search.compare.alternatives import NOTHING, Alternative, edited_functions
from sandbox.guest.search.compare.examples import Example, find_examples
from sandbox.guest.search.compare.held_out import held_out_failures
from sandbox.guest.search.compare.judge import (
    ObservedProgram,
    assign_clusters,
    differing_inputs,
    find_unstable,
    measure_profile,
    result_kinds,
)
from sandbox.guest.search.compare.known import (
    KnownBehaviour,
    keep_calls,
    read_behaviours,
    recognize_new,
)
from sandbox.guest.search.compare.neighbours import neighbours
from sandbox.guest.search.compare.observe import EXAMPLE_S, drop, observe_all
from sandbox.guest.search.compare.probes import condition_doubts
from sandbox.guest.search.compare.record import CallRecorder, Input, project_functions, record
from sandbox.guest.search.compare.return_traces import trail_inputs, trails
from sandbox.guest.search.compare.shrink import InputDifference, minimize_differences, render_call
from sandbox.guest.search.process.limits import Limiter
from sandbox.guest.search.session.baseline import EditablePaths

MOST_TESTS = 40
MOST_RECORDED = 90
MOST_PAIRS = 15
RECORDING = 0.3
"""Share of the time for recording."""


class Phase:
    """One comparison, in a forked child.

    Args:
        facts: What is known from the collected tests.
        alternatives: The survivors.
        seconds: Limit of CPU time.
        wall_s: Limit of wall time, which matters on a busy machine.
        count: Number of neighbouring inputs.
    """

    def __init__(
        self,
        facts: Any,
        alternatives: Sequence[Alternative],
        seconds: float,
        *,
        wall_s: float,
        count: int,
    ) -> None:
        self._facts = facts
        self._alternatives = alternatives
        self._count = count
        self._started, self._cpu = time.monotonic(), _cpu_s()
        self._seconds, self._wall_s = seconds, wall_s
        self._reach = EditablePaths(facts.root, facts.request.protected)
        self._watched: List[types.FunctionType] = []
        self._examples: List[Example] = []
        self._known: List[KnownBehaviour] = []

    def left(self) -> float:
        """Return the seconds left, by CPU time or by wall time, whichever is shorter."""
        used = (_cpu_s() - self._cpu) / self._seconds
        return self._seconds * (1.0 - max(used, (time.monotonic() - self._started) / self._wall_s))

    def run(self, limiter: Limiter) -> Dict[str, Any]:
        """Run the comparison and return its event."""
        calls = self._record(limiter)
        examples: Sequence[Example] = self._examples
        inputs: List[Input] = [
            *calls,
            *neighbours(calls, self._count, 1 + self._facts.request.seed, self._forms()),
            *(call for known in self._known for call in known.calls),
        ]
        # The unedited program runs twice, to find inputs with unstable results.
        programs = [NOTHING, NOTHING, *self._alternatives]
        observed = observe_all(
            programs, self._facts.root, inputs, examples, left=lambda: 0.75 * self.left()
        )
        inputs, observed = _steady(inputs, observed)
        if self._is_blind(inputs):
            more, seen = self._trails(programs)
            inputs = [*inputs, *more]
            observed = [
                o and t and o._replace(results=[*o.results, *t.results])
                for o, t in zip(observed, seen)
            ]
        return self._build_event(inputs, observed, examples)

    # --- recording -------------------------------------------------------------------------------

    def _record(self, limiter: Limiter) -> List[Input]:
        functions = project_functions(lambda name: self._reach.relative(name) is not None)
        self._known = read_behaviours(
            self._facts.request.known, functions.values(), self._reach.relative
        )
        edited = list(edited_functions(self._alternatives)) or self._functions_in_edited_files(
            functions
        )
        recorder = CallRecorder(
            functions, [f.__code__ for f in edited], lambda n: self._reach.relative(n) is not None
        )
        spare = (1.0 - RECORDING) * self._seconds
        self._record_tests(recorder, self._passing()[:MOST_TESTS], limiter, spare)
        self._record_with_fix(recorder, limiter, spare - 0.1 * self._seconds)
        self._watched = [*edited, *(f for f in recorder.entries if f not in edited)]
        self._examples = find_examples(self._watched)
        self._record_examples(recorder, limiter)
        return _spread(recorder.useful_calls(), MOST_RECORDED)

    def _forms(self) -> Dict[Any, List[types.CodeType]]:
        """Return the alternative code of each edited function."""
        forms: Dict[Any, List[types.CodeType]] = {}
        for one in self._alternatives:
            for function, code in one.swaps:
                forms.setdefault(function, []).append(code)
        return forms

    def _functions_in_edited_files(
        self, functions: Dict[types.CodeType, types.FunctionType]
    ) -> List[types.FunctionType]:
        paths = {path for one in self._alternatives for path in one.files}
        found = [
            f for code, f in functions.items() if self._reach.relative(code.co_filename) in paths
        ]
        return sorted(
            found, key=lambda f: (f.__code__.co_filename, f.__code__.co_firstlineno, f.__qualname__)
        )

    def _record_with_fix(self, recorder: CallRecorder, limiter: Limiter, spare: float) -> None:
        """Record failing tests with a fix applied, so that they run past their failure."""
        failing = self._failing()[:MOST_TESTS]
        fix = next((one for one in self._alternatives if one.swaps), None)
        if fix is None:
            return self._record_tests(recorder, failing, limiter, spare)
        olds = [(function, function.__code__) for function, _ in fix.swaps]
        for function, code in fix.swaps:
            function.__code__ = code
            recorder.learn(function, code)
        self._record_tests(recorder, failing, limiter, spare)
        for function, code in olds:
            function.__code__ = code
        return None

    def _record_tests(
        self, recorder: CallRecorder, tests: Sequence[int], limiter: Limiter, spare: float
    ) -> None:
        for _ in record(self._facts.items, tests, recorder, limiter, limit_of=self._time_limit):
            if self.left() < spare:
                return

    def _record_examples(self, recorder: CallRecorder, limiter: Limiter) -> None:
        """Record docstring examples, which are likely inputs."""
        recorder.failing = True
        for example in self._examples:
            call = example.thunk()
            try:
                with limiter.within(EXAMPLE_S):
                    recorder.around(call)
            except BaseException:
                continue

    def _time_limit(self, index: int) -> float:
        return float(min(2.0, self._facts.screen.limits.of(index, 5.0)))

    def _units(self) -> List[Any]:
        return list(dict.fromkeys(unit for one in self._alternatives for unit in one.units))

    def _failing(self) -> List[int]:
        through = [i for unit in self._units() for i in self._facts.failing_through(unit)]
        return list(dict.fromkeys([*through, *self._facts.items.failing]))

    def _passing(self) -> List[int]:
        through = [list(self._facts.all_passing_through(unit)) for unit in self._units()]
        mixed = [i for row in itertools.zip_longest(*through) for i in row if i is not None]
        return list(dict.fromkeys(mixed or self._facts.items.passing[:20]))

    def _is_blind(self, inputs: Sequence[Input]) -> bool:
        """Return True if some survivor's edited functions could not be called alone."""
        called = {call.function for call in inputs if not call.far}
        return not called or any(
            one.swaps and not called & {function for function, _ in one.swaps}
            for one in self._alternatives
        )

    # --- judging ---------------------------------------------------------------------------------

    def _trails(self, programs: Sequence[Alternative]) -> Any:
        """Observe return values during the tests if nothing can be called alone."""
        if not self._watched:
            return [], [None] * len(programs[1:])
        items = self._facts.items
        tests = [*self._failing()[:4], *self._passing()]
        inputs = trail_inputs(items, tests, self._watched[0])
        observed: List[Optional[ObservedProgram]] = []
        for number, one in enumerate(programs):
            share = 0.9 * self.left() / (len(programs) - number)
            watch = trails(one, self._facts.root, items, tests, watched=self._watched)
            observed.append(watch(share) if share > 0.05 else None)
        return _steady(inputs, observed)

    def _build_event(
        self,
        inputs: List[Input],
        observed: Sequence[Optional[ObservedProgram]],
        examples: Sequence[Example],
    ) -> Dict[str, Any]:
        before, after = observed[0], list(observed[1:])
        tests = [*self._failing()[:10], *self._passing()]
        clusters = assign_clusters(inputs, after, [one.places() for one in self._alternatives])
        kinds = result_kinds(inputs, before) if before else {}
        useful = _useful(examples, after)
        profiles: List[Dict[str, Any]] = [
            {
                **(measure_profile(inputs, before, own, kinds) if before and own else {}),
                "examples": len(useful),
                "examples_failed": len(useful & set(own.broken)) if own else 0,
                "examples_unmet": len(examples) - len(useful),
            }
            for own in after
        ]
        for profile, one in zip(profiles, self._alternatives):
            wait = min(1.0, 0.15 * self.left())
            profile["held_out_failed"] = held_out_failures(
                one, self._facts, min(3.0, 0.3 * self.left())
            )
            profile["warnings"] = condition_doubts(one, self._facts, tests, wait_s=wait)
        return {
            "clusters": clusters, "profiles": profiles, "inputs": len(inputs),
            "differences": self._differences(inputs, after, clusters),
            "calls": [self._kept_calls(inputs, after, number) for number in range(len(after))],
            "recognized": recognize_new(self._known, inputs, before, after),
        }  # fmt: skip

    def _kept_calls(
        self, inputs: List[Input], after: Sequence[Optional[ObservedProgram]], number: int
    ) -> List[Dict[str, str]]:
        """Return calls of a survivor to keep, those that distinguish it from others first."""
        own = after[number]
        if own is None:
            return []
        rivals = [other for other in after if other is not None and other is not own]
        first = [place for other in rivals for place in differing_inputs(inputs, own, other)]
        return keep_calls(inputs, own, first, self._reach.relative)

    def _differences(
        self,
        inputs: List[Input],
        after: Sequence[Optional[ObservedProgram]],
        clusters: Sequence[int],
    ) -> List[Dict[str, Any]]:
        firsts = [clusters.index(number) for number in dict.fromkeys(clusters)]
        pairs = list(itertools.combinations(firsts, 2))[:MOST_PAIRS]

        def again(more: Sequence[Input]) -> Sequence[Optional[ObservedProgram]]:
            return observe_all(
                self._alternatives, self._facts.root, more, [], left=lambda: 0.5 * self.left()
            )

        best: Dict[Any, InputDifference] = minimize_differences(
            inputs, after, pairs, again=again, in_time=lambda: self.left() > 0.25 * self._seconds
        )
        return [
            {"first": one, "second": other, "input": render_call(parted.call)[:300],
             "results": [result[:200] for result in parted.results]}
            for (one, other), parted in best.items()
        ]  # fmt: skip


def _cpu_s() -> float:
    """Return the CPU time of this process and of its children that ended."""
    return sum(os.times()[:4])


def _steady(inputs: Sequence[Input], observed: Sequence[Optional[ObservedProgram]]) -> Any:
    """Drop inputs on which two runs of the unedited program differ."""
    first, second, *rest = observed
    wavers = find_unstable(first.results, second.results) if first and second else []
    kept = [o and o._replace(results=drop(o.results, wavers)) for o in (first, *rest)]
    return drop(inputs, wavers), kept


def _spread(calls: Sequence[Input], most: int) -> List[Input]:
    """Return a limited number of calls.

    The calls of all functions and of both kinds of tests take turns.
    """
    groups: Dict[Any, List[Input]] = {}
    for call in calls:
        groups.setdefault((call.function, call.failing), []).append(call)
    rows = [
        [call for call in row if call is not None]
        for row in itertools.zip_longest(*groups.values())
    ]
    return [call for row in rows for call in row][:most]


def _useful(examples: Sequence[Example], after: Sequence[Optional[ObservedProgram]]) -> Any:
    """Return the examples that some survivor satisfies.

    The others are likely mistakes of the author.
    """
    known = [one for one in after if one is not None]
    return {n for n in range(len(examples)) if any(n not in one.broken for one in known)}
