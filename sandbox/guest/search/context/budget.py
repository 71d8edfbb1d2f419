"""The bounds of one search and what it has told: time, trials, survivors."""

from __future__ import annotations

import time
from typing import Any, Callable, Dict, List, NamedTuple, Optional

from sandbox.guest.search.context.ground import Request

MARGIN_S = 0.35
"""Kept back of the time limit, so that the end is told in time."""
FURTHER = 400
"""Trials of the swap lane that follow the first survivor in any case."""
LONGEST_HURRY_S = 20.0
COMPARING, MOST_COMPARING_S = 0.15, 8.0
"""Of the time limit, kept for comparing the survivors."""


class Hurry(NamedTuple):
    """When a search ends that has found something."""

    soon: float
    late: float
    """While fewer trials were made than wanted."""
    weight: float


class Ended(Exception):
    """A bound was reached; the message is the reason in the words of TrialDone."""


class Course:
    """How far a search is.

    Args:
        request: Its bounds.
        emit: Tells the host one event.
        started: When the clock of the time limit started.
    """

    def __init__(self, request: Request, emit: Callable[[Dict[str, Any]], None], started: float) -> None:
        self.request = request
        self.emit = emit
        self.tried = 0
        self.passed_screen = 0
        """Candidates that passed their first trial."""
        self.confirmed = 0
        self.survivors = 0
        self.notes: List[str] = []
        self._told_notes = 0
        self._started = started
        self._end = started + request.time_limit_s - MARGIN_S
        self._deadline = self._end - min(MOST_COMPARING_S, COMPARING * request.time_limit_s)
        self._last_progress = started
        self._weight = 0.0
        self._hurried: Optional[Hurry] = None

    def seconds(self) -> float:
        """Since the search was asked for."""
        return time.monotonic() - self._started

    def left(self) -> float:
        """Until the search has to end."""
        deadline = self._deadline
        if self._hurried is not None:
            late = self._hurried.late if self._weight < self._hurried.weight else self._hurried.soon
            deadline = min(deadline, late)
        return deadline - time.monotonic()

    def left_in_all(self) -> float:
        """Until everything has to end."""
        return self._end - time.monotonic()

    def count(self, weight: float) -> None:
        """One more trial; those that take long weigh more."""
        self.tried += 1
        self._weight += weight

    def hurry(self, seconds: float) -> None:
        """Search no longer than this, but for a number of further trials: a busy machine tries few in a second."""
        now = time.monotonic()
        longest = max(seconds, min(LONGEST_HURRY_S, 0.3 * self.request.time_limit_s))
        self._hurried = Hurry(now + seconds, now + longest, self._weight + FURTHER)

    def check(self) -> None:
        """Raises Ended when a bound is reached."""
        if self.left() <= 0:
            raise Ended("enough" if self.survivors else "time")
        if self.tried >= self.request.max_candidates:
            raise Ended("candidates")
        if self.survivors >= self.request.max_survivors:
            raise Ended("enough")

    def tell_progress(self) -> None:
        """About once a second."""
        if time.monotonic() - self._last_progress >= 1.0:
            self._last_progress = time.monotonic()
            self.emit({"kind": "progress", "tried": self.tried, "seconds": self.seconds()})

    def why_untried(self) -> str:
        """Why nothing was tried, where that is so."""
        if self.tried:
            return ""
        return "there is nothing to try" if self.left() > 0 else "all the time went into getting ready"

    def late_notes(self) -> List[str]:
        """Notes that came after the start was told."""
        return self.notes[self._told_notes :]

    def tell_started(self, event: Dict[str, Any]) -> None:
        """Tell what is known at the start, notes included."""
        self._told_notes = len(self.notes)
        self.emit({**event, "kind": "started", "lane_notes": self.notes[:12], "seconds": self.seconds()})

    def note(self, text: Optional[str]) -> None:
        """Something the host should know about the lanes and sources; once."""
        if text and text not in self.notes:
            self.notes.append(text[:200])
