"""Candidates made from the exception itself: few, cheap and precise, to be tried before all others."""

from __future__ import annotations

import os
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional, Tuple

from sandbox.guest.search.candidates.generator import Candidate
from sandbox.guest.search.candidates.lookups import Lookups
from sandbox.guest.search.candidates.spots import Change, View, dangerous_spans, spots_of
from sandbox.guest.search.session.failures import Failure
from sandbox.guest.search.source.functions import Unit, units_of
from sandbox.guest.search.source.render import Edit, Source
from sandbox.guest.search.source.scope import NO_LITERALS, SeenLiterals

MOST_FAILURES = 12
MOST_CANDIDATES = 400
"""Of one failure."""
DEPTH_COST = 0.15
"""What each exception behind the exception costs more."""


class Checkout:
    """The editable files of the checkout, read when they are asked for.

    Args:
        root: Absolute path.
        editable: Whether a path (relative) may be edited; tests may not.
    """

    def __init__(self, root: str, editable: Any) -> None:
        self.root = root
        self._editable = editable
        self._sources: Dict[str, Optional[Source]] = {}
        self._units: Dict[str, List[Unit]] = {}
        self._dangers: Dict[str, List[Tuple[int, int]]] = {}

    def open(self, path: str) -> Optional[Source]:
        """A file, or None when it may not be edited or is not ours to read."""
        if path not in self._sources:
            self._sources[path] = self._read(path)
        return self._sources[path]

    def _read(self, path: str) -> Optional[Source]:
        if not path.endswith(".py") or os.path.isabs(path) or not self._editable(path):
            return None
        full = os.path.realpath(os.path.join(self.root, path))
        if not full.startswith(os.path.realpath(self.root) + os.sep):
            return None
        try:
            with open(full, "rb") as file:
                return Source(path, file.read())
        except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
            return None

    def unit_of(self, source: Source, edits: Iterable[Edit]) -> Optional[Unit]:
        """The function whose body holds all these edits; None when any stands outside."""
        if source.path not in self._units:
            self._units[source.path] = units_of(source, os.path.join(self.root, source.path))
        edits = list(edits)
        for unit in self._units[source.path]:
            start = source.line_span(unit.node.body[0].lineno, unit.node.body[0].lineno)[0]
            end = source.line_span(unit.last_line, unit.last_line)[1]
            one_line = unit.node.body[0].lineno == unit.node.lineno
            if not one_line and all(start <= e.start and e.end <= end for e in edits):
                return unit
        return None

    def is_safe(self, change: Change) -> bool:
        """Whether a change leaves calls alone that could destroy something."""
        path = change.source.path
        if path not in self._dangers:
            self._dangers[path] = dangerous_spans(change.source)
        touched = [e for e in change.edits for start, end in self._dangers[path] if e.start < end and e.end > start]
        return not touched or change.harmless


def guided_candidates(
    failures: Iterable[Failure],
    checkout: Checkout,
    *,
    templates: Mapping[str, Any],
    shifts: Mapping[str, float],
    literals: SeenLiterals = NO_LITERALS,
    seconds: float = 4.0,
) -> Iterator[Candidate]:
    """Candidates for what the failing tests died of, cheapest first; equal ones once.

    Args:
        failures: What `failure_of` made of the exceptions, most telling first.
        checkout: The editable files.
        templates: Those guided by exceptions.
        shifts: What the host adds to what a template costs.
        literals: What the failing tests mention.
        seconds: How long may be searched through sources of the checkout and of installed packages.
    """
    lookups = Lookups(checkout.root, seconds)
    found: Dict[Tuple[str, Tuple[Edit, ...]], Candidate] = {}
    known = set()
    for failure, extra in _with_earlier(list(failures)[:MOST_FAILURES]):
        key = (failure.kind, failure.message, failure.frames[-3:])
        if key in known:
            continue
        known.add(key)
        view = View(failure, spots_of(failure, checkout.open), checkout.open, lookups, literals)
        for candidate in _of_failure(view, checkout, templates, shifts):
            place = (candidate.source.path, candidate.edits)
            priced = candidate._replace(cost=candidate.cost + extra)
            if place not in found or priced.cost < found[place].cost:
                found[place] = priced
    ordered = sorted(enumerate(found.values()), key=lambda pair: (pair[1].priority, pair[0]))
    yield from (candidate for _, candidate in ordered)


def _with_earlier(failures: List[Failure], extra: float = 0.0) -> Iterator[Tuple[Failure, float]]:
    for failure in failures:
        yield failure, extra
        earlier = [Failure.from_json(value) for value in failure.extra.get("earlier", ())]
        yield from _with_earlier(earlier, extra + DEPTH_COST)


def _of_failure(
    view: View, checkout: Checkout, templates: Mapping[str, Any], shifts: Mapping[str, float]
) -> List[Candidate]:
    made: List[Candidate] = []
    for name, template in templates.items():
        shift = shifts.get(name, 0.0)
        for change in template.propose(view):
            if not _is_new(change) or not checkout.is_safe(change):
                continue
            unit = checkout.unit_of(change.source, change.edits)
            cost = change.cost + shift
            made.append(Candidate(name, cost, 1.0, change.line, change.source, unit, change.edits))
    return sorted(made, key=lambda c: c.cost)[:MOST_CANDIDATES]


def _is_new(change: Change) -> bool:
    edits = sorted(change.edits)
    if any(one.end > other.start for one, other in zip(edits, edits[1:])):
        return False
    return any(change.source.data[e.start : e.end] != e.text.encode("utf-8") for e in edits)
