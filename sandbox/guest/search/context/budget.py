"""The budget of one search: time, trials and survivors."""

from __future__ import annotations

import time
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

from sandbox.guest.search.candidates.generator import CandidatePatch
from sandbox.guest.search.context.suite_facts import SearchJob
from sandbox.guest.search.process.limits import slowdown

MARGIN_S = 0.35
"""Time reserved at the end for the report, in seconds."""
FURTHER = 400
"""Minimum number of swap-lane trials after the first survivor."""
UNSETTLED, LEAST_UNSETTLED = 10, 2000
"""Trials after enough survivors of which none is ahead: a multiple of those so far, at least.

In the case that this is for, the right edit came after 7.5 times as many.
"""
LONGEST_HURRY_S = 20.0
COMPARING, MOST_COMPARING_S = 0.15, 8.0
"""Time reserved for comparing the survivors: share of the time limit, and maximum in seconds."""


class GracePeriod(NamedTuple):
    """The end of a search that has found a survivor."""

    soon: float
    late: float
    """The deadline while fewer trials have run than wanted."""
    weight: float


class LimitReached(Exception):
    """A limit was reached. The message is the reason, in the words of `TrialDone`."""


class SearchBudget:
    """The limits of a search and what it has used of them.

    Args:
        request: The limits.
        emit: Writes one event for the host.
        started: Start of the time limit, as `time.monotonic()`.
    """

    def __init__(
        self, request: SearchJob, emit: Callable[[Dict[str, Any]], None], started: float
    ) -> None:
        self.request = request
        self.emit = emit
        self.tried = 0
        self.passed_screen = 0
        """Number of candidates that passed their first trial."""
        self.confirmed = 0
        self.survivors = 0
        self.is_settled: Callable[[], bool] = lambda: True
        """Asked once, when there are enough survivors: returns True if one is ahead."""
        self._most = request.max_survivors
        self.notes: List[str] = []
        self._told_notes = 0
        self._started = started
        self._end = started + request.time_limit_s - MARGIN_S
        self._deadline = self._end - min(MOST_COMPARING_S, COMPARING * request.time_limit_s)
        self._last_progress = started
        self._weight = 0.0
        self._hurried: Optional[GracePeriod] = None
        self._spending: Dict[Tuple[str, str], List[float]] = {}
        """Trials and seconds by source and template."""
        self._uncharged: List[Tuple[str, str]] = []
        """Source and template of each candidate tried since the last charge."""
        self._charged = started

    def seconds(self) -> float:
        """Return the seconds since the search was requested."""
        return time.monotonic() - self._started

    def left(self) -> float:
        """Return the seconds left for trials."""
        deadline = self._deadline
        if self._hurried is not None:
            late = self._hurried.late if self._weight < self._hurried.weight else self._hurried.soon
            deadline = min(deadline, late)
        return deadline - time.monotonic()

    def total_left(self) -> float:
        """Return the seconds left in total."""
        return self._end - time.monotonic()

    def count(self, candidate: CandidatePatch, weight: float = 0.0) -> None:
        """Count one trial; slow lanes weigh more."""
        self.tried += 1
        self._weight += weight
        # A second edit is charged to its own template, because the first edit was paid before.
        self._uncharged.append((candidate.origin, candidate.template.rpartition("+")[2]))

    def charge(self) -> None:
        """Divide the time since the last charge evenly among the candidates tried since then."""
        if not self._uncharged:
            return
        now = time.monotonic()
        share = (now - self._charged) / len(self._uncharged)
        for key in self._uncharged:
            spent = self._spending.setdefault(key, [0, 0.0])
            spent[0] += 1
            spent[1] += share
        self._uncharged, self._charged = [], now

    def report_spending(self) -> List[Dict[str, Any]]:
        """Return the trials and seconds of each source and template, for `TrialDone`."""
        return [
            {"origin": origin, "template": template, "tried": tried, "seconds": seconds}
            for (origin, template), (tried, seconds) in self._spending.items()
        ]

    def start_grace_period(self, seconds: float) -> None:
        """End the search after these seconds.

        It continues for up to `FURTHER` trials, because a busy machine runs few per second.
        """
        if self._most > self.request.max_survivors:
            return
        now = time.monotonic()
        longest = max(seconds, min(LONGEST_HURRY_S * slowdown(), 0.3 * self.request.time_limit_s))
        self._hurried = GracePeriod(now + seconds, now + longest, self._weight + FURTHER)

    def check(self) -> None:
        """Raise `LimitReached` if a limit is reached."""
        if self.left() <= 0:
            raise LimitReached("enough" if self.survivors else "time")
        if self.tried >= self.request.max_candidates:
            raise LimitReached("candidates")
        if not self.is_full:
            return
        if self._most >= self.request.most_survivors or self.is_settled():
            raise LimitReached("enough")
        # Nothing found so far stands out, so the better fix may still come.
        self._most = self.request.most_survivors
        further = max(LEAST_UNSETTLED, UNSETTLED * self._weight)
        self._hurried = GracePeriod(time.monotonic(), self._deadline, self._weight + further)

    @property
    def is_full(self) -> bool:
        """Return True if no further survivor is wanted."""
        return self.survivors >= self._most

    def emit_progress(self) -> None:
        """Emit the progress, at most once per second."""
        if time.monotonic() - self._last_progress >= 1.0:
            self._last_progress = time.monotonic()
            self.emit({"kind": "progress", "tried": self.tried, "seconds": self.seconds()})

    def untried_reason(self) -> str:
        """Return the reason why nothing was tried, or an empty string."""
        if self.tried:
            return ""
        return "there is nothing to try" if self.left() > 0 else "the set-up used up the time limit"

    def late_notes(self) -> List[str]:
        """Return the notes that were added after the start was reported."""
        return self.notes[self._told_notes :]

    def emit_started(self, event: Dict[str, Any]) -> None:
        """Emit the start event with all notes so far."""
        self._told_notes = len(self.notes)
        self._charged = time.monotonic()  # the set-up is charged to no candidate
        self.emit(
            {**event, "kind": "started", "lane_notes": self.notes[:12], "seconds": self.seconds()}
        )

    def note(self, text: Optional[str]) -> None:
        """Add a note for the host about lanes and sources, once."""
        if text and text not in self.notes:
            self.notes.append(text[:200])
