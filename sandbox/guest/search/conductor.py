"""The order of things: reproduce, localise, generate, screen, confirm, combine; bounded in time and number."""

from __future__ import annotations

import os
import time
import warnings
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Set, Tuple

from sandbox.guest.search.behaviour import behaviour_of
from sandbox.guest.search.candidates import Candidate, Suspicion
from sandbox.guest.search.combine import Partial, covers
from sandbox.guest.search.doubts import doubts_about
from sandbox.guest.search.functions import Swap, signature, units_of
from sandbox.guest.search.ground import Ground, Request
from sandbox.guest.search.harness import PASS, TIMEOUT
from sandbox.guest.search.render import Source
from sandbox.guest.search.screen import DIED, NEAR, Alone, Chunk, Limits, Trial, Verdict

FIRST_CHUNK, CHUNK = 16, 40
WORKERS = max(1, min(2, os.cpu_count() or 1))
"""Children at work at the same time."""
MARGIN_S = 0.35
"""Kept back of the time limit, so that the end is told in time."""


class Ended(Exception):
    """A bound was reached; the message is the reason in the words of TrialDone."""


class Conductor:
    """One search.

    Args:
        request: What to do.
        emit: Tells the host one event.
        templates: Template modules by name.
        started: When the clock of the time limit started.
    """

    def __init__(
        self, request: Request, emit: Callable[[Dict[str, Any]], None], templates: Dict[str, Any], started: float
    ) -> None:
        self.request = request
        self.emit = emit
        self.templates = templates
        self.started = started
        self.tried = 0
        self.survivors = 0
        self._deadline = started + request.time_limit_s - MARGIN_S
        self._last_progress = started
        self._seen: Set[Any] = set()
        self._partials: List[Partial] = []
        self._requeued: List[Trial] = []
        self._combined: Set[Tuple[int, ...]] = set()

    # --- time --------------------------------------------------------------------------------------

    def seconds(self) -> float:
        """Since the search was asked for."""
        return time.monotonic() - self.started

    def left(self) -> float:
        """Until the search has to end."""
        return self._deadline - time.monotonic()

    def check(self) -> None:
        """Raises Ended when a bound is reached."""
        if self.left() <= 0:
            raise Ended("enough" if self.survivors else "time")
        if self.tried >= self.request.max_candidates:
            raise Ended("candidates")
        if self.survivors >= self.request.max_survivors:
            raise Ended("enough")

    # --- the search ----------------------------------------------------------------------------------

    def run(self, session: Any) -> None:
        """Search with this collected session.

        Raises:
            Refused: nothing can be searched here.
            Ended: a bound was reached.
        """
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._ground = ground = Ground(session, self.request, self.templates, self.left)
            self._tell_started(ground)
            self._screen_all(ground.generator.best_first(ground.units, ground.suspicion, ground.literals))
            self._combine()
            self._second_chances()
            if not self.survivors:
                self._second_edits()

    def _tell_started(self, ground: Ground) -> None:
        suspects = ground.located.suspect_lines()
        self.emit({
            "kind": "started", "candidates": self.request.max_candidates, "suspect_lines": suspects,
            "baseline_failing": len(self._ground.items.failing), "baseline_passing": len(self._ground.items.passing),
            "isolated": self._ground.baseline.isolated, "seconds": self.seconds(),
        })  # fmt: skip

    def _tell_progress(self) -> None:
        if time.monotonic() - self._last_progress >= 1.0:
            self._last_progress = time.monotonic()
            self.emit({"kind": "progress", "tried": self.tried, "seconds": self.seconds()})

    # --- screening -----------------------------------------------------------------------------------

    def _screen_all(self, candidates: Iterator[Candidate], origin: Optional[Partial] = None) -> None:
        """Chunk after chunk; the next one is made ready while the child works."""
        size = 1 if self._ground.baseline.isolated else FIRST_CHUNK
        running: List[Any] = []
        try:
            while True:
                while len(running) < WORKERS and (trials := self._take(candidates, size, origin)):
                    running.append(self._start(trials))
                if not running:
                    return
                work = running.pop(0)
                size = 1 if self._ground.baseline.isolated else CHUNK
                for trial, verdict in zip(work.trials, self._verdicts(work)):
                    self.tried += 1
                    self._judge(trial, verdict)
                self._tell_progress()
                if self._should_combine():
                    self._combine()
                self.check()
        finally:
            for work in running:
                work.end()

    def _start(self, trials: List[Trial]) -> Any:
        if self._ground.baseline.isolated:
            return self._ground.screen.alone(trials[0])
        return Chunk(self._ground.screen, trials, 1.0)

    def _verdicts(self, work: Any) -> List[Verdict]:
        if isinstance(work, Alone):
            return [self._verdict(work.fixed(self._wait()))]
        verdicts = work.results(self.left)
        if work.sane:
            return list(verdicts)
        # Some candidate left the process in a state of its own: what failed behind it may be innocent.
        return [v if v.outcome != "fail" else self._alone(t) for t, v in zip(work.trials, verdicts)]

    def _take(self, candidates: Iterator[Candidate], count: int, origin: Optional[Partial]) -> List[Trial]:
        trials: List[Trial] = []
        for candidate in candidates:
            trial = self._ready(candidate, origin)
            if trial is not None:
                trials.append(trial)
            if len(trials) >= count or self.left() <= 0:
                break
        return trials

    def _ready(self, candidate: Candidate, origin: Optional[Partial]) -> Optional[Trial]:
        """Compile a candidate; None when it is no Python, or the same code as an earlier one."""
        unit = candidate.unit
        code = unit.compile(candidate.edits) if unit else None
        if unit is None or code is None:
            return None
        key = (unit.source.path, unit.names, signature(code))
        if key in self._seen:
            return None
        self._seen.add(key)
        first = unit
        if origin:
            candidate = candidate.after(origin.trial.candidate)
            first = origin.trial.candidate.unit or unit
        swaps = self._ground.live.swaps(unit, code, first)
        return Trial(candidate, swaps, self._ground.failing_through(first), self._ground.passing_through(first))

    def _alone(self, trial: Trial) -> Verdict:
        """The whole suite in a fork of its own, in the original order."""
        return self._verdict(self._ground.screen.alone(trial).fixed(self._wait()))

    def _verdict(self, fixed: Sequence[int]) -> Verdict:
        if not fixed:
            return Verdict("fail")
        return Verdict(PASS if len(fixed) == len(self._ground.items.failing) else NEAR, tuple(fixed))

    def _wait(self) -> float:
        """How long the whole suite may take, once."""
        return min(self._ground.suite_s(), max(0.0, self.left()))

    def _judge(self, trial: Trial, verdict: Verdict) -> None:
        if verdict.outcome in (TIMEOUT, DIED) and len(self._requeued) < 400:
            self._requeued.append(trial)
        if verdict.outcome not in (PASS, NEAR) or self.survivors >= self.request.max_survivors:
            return
        fixed = self._ground.screen.confirm(trial.swaps, self._wait())
        if len(fixed) == len(self._ground.items.failing):
            self._survives([trial], trial.swaps)
        elif fixed:
            self._keep_partial(trial, fixed)

    def _keep_partial(self, trial: Trial, fixed: Sequence[int]) -> None:
        if len(self._partials) >= 60:
            return
        self._partials.append(Partial(trial, tuple(fixed)))
        candidate = trial.candidate
        if len(self._partials) <= 10:
            self.emit({
                "kind": "near_miss", "template": candidate.template, "path": candidate.source.path,
                "line": candidate.line, "edits": spans_of(candidate.source.path, candidate.edits),
                "fixed": [self._ground.items.names[i] for i in fixed],
            })  # fmt: skip

    def _survives(self, trials: Sequence[Trial], swaps: Sequence[Swap]) -> None:
        """Tell the host of a survivor; several trials are edits to be made together."""
        candidates = [trial.candidate for trial in trials]
        first = candidates[0]
        edits = tuple(edit for candidate in candidates for edit in candidate.edits)
        units = [c.unit for c in candidates if c.unit is not None]
        doubts = [d for c in candidates for d in doubts_about(c, self._ground.literals)]
        wait = max(0.0, min(2.0, self.left()))
        functions = [f for unit in dict.fromkeys(units) for f in self._ground.live.outer(unit)[:1]]
        behaviour = "" if self._ground.baseline.isolated else behaviour_of(self._ground.items, functions, swaps, wait)
        self.emit({
            "kind": "survivor", "template": "+".join(c.template for c in candidates), "path": first.source.path,
            "line": first.line, "cost": sum(c.cost for c in candidates),
            "suspicion": min(c.suspicion for c in candidates),
            "edits": spans_of(first.source.path, edits),
            "description": "; ".join(c.description for c in candidates)[:300], "tried": self.tried,
            "seconds": self.seconds(), "behaviour": behaviour, "warnings": list(dict.fromkeys(doubts)),
        })  # fmt: skip
        self.survivors += 1
        if self.survivors == 1:
            # Look a little longer: how many different fixes there are is worth knowing, and the first may not be best.
            grace = min(max(0.7, 0.6 * self.seconds()), 12.0)
            self._deadline = min(self._deadline, time.monotonic() + grace)

    # --- more than one edit --------------------------------------------------------------------------

    def _combine(self) -> None:
        """Join partial fixes of different tests that touch different places of one file."""
        if self.survivors or not self._covered():
            return
        goal = set(self._ground.items.failing)
        for chosen in covers(self._partials, goal):
            if self.left() <= 0:
                return
            key = tuple(sorted(chosen))
            if key in self._combined:
                continue
            self._combined.add(key)
            self._try_together([self._partials[i] for i in chosen])
            if self.survivors >= self.request.max_survivors:
                return

    def _covered(self) -> bool:
        return {i for partial in self._partials for i in partial.fixed} == set(self._ground.items.failing)

    def _should_combine(self) -> bool:
        """Before the end only when no single edit can do, or much time has passed."""
        if self.survivors or not self._covered():
            return False
        late = self.seconds() > 0.4 * self.request.time_limit_s
        return late or all(
            len(self._ground.failing_through(u)) < len(self._ground.items.failing) for u in self._ground.units
        )

    def _try_together(self, partials: Sequence[Partial]) -> None:
        candidates = [p.trial.candidate for p in partials]
        source = candidates[0].source
        if any(c.source is not source for c in candidates):
            return
        swaps: List[Swap] = []
        for unit in {c.unit for c in candidates if c.unit is not None}:
            edits = tuple(e for c in candidates if c.unit is unit for e in c.edits)
            code = unit.compile(edits)
            if code is None:
                return
            swaps += self._ground.live.swaps(unit, code)
        self.tried += 1
        if len(self._ground.screen.confirm(swaps, self._wait())) == len(self._ground.items.failing):
            self._survives([p.trial for p in partials], swaps)

    def _second_chances(self) -> None:
        """Candidates that ran out of time once more, with ten times as much."""
        waiting, self._requeued = self._requeued, []
        factor = max(10.0, self.request.test_cpu_s / max(0.02, self._ground.screen.limits.default))
        for trial in waiting:
            self.check()
            verdict = Chunk(self._ground.screen, [trial], factor).results(self.left)[0]
            if verdict.outcome in (PASS, NEAR):
                self._ground.screen.limits = Limits({}, self._ground.screen.limits.default * factor)
                self._judge(trial, verdict)

    def _second_edits(self) -> None:
        """Search again from the partial fixes that repair most, cheapest first."""
        best = sorted(self._partials, key=lambda p: (-len(p.fixed), p.trial.candidate.priority))[:6]
        for partial in best:
            candidate = partial.trial.candidate
            assert candidate.unit is not None
            try:
                source = Source(candidate.source.path, candidate.source.render(candidate.edits))
            except (ValueError, SyntaxError):
                continue
            units = [u for u in units_of(source, candidate.unit.filename) if u.names == candidate.unit.names]
            flat = Suspicion({source.path: {line: 1.0 for u in units for line in range(u.first_line, u.last_line + 1)}})
            self._screen_all(self._ground.generator.best_first(units[:1], flat, self._ground.literals), partial)
            self.check()


def spans_of(path: str, edits: Sequence[Any]) -> List[Dict[str, Any]]:
    """Edits as the host reads them."""
    return [{"path": path, "start": edit.start, "end": edit.end, "text": edit.text} for edit in edits]
