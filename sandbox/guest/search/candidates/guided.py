"""Candidates derived from the exception: few, cheap and tried early."""

from __future__ import annotations

import os
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional, Tuple

from sandbox.guest.search.candidates.generator import CandidatePatch
from sandbox.guest.search.candidates.lookups import Lookups
from sandbox.guest.search.candidates.spots import (
    FailureContext,
    GuidedProposal,
    dangerous_spans,
    find_spots,
)
from sandbox.guest.search.session.failures import FailureRecord
from sandbox.guest.search.source.functions import Unit, list_units
from sandbox.guest.search.source.render import SourceFile, TextEdit
from sandbox.guest.search.source.scope import NO_LITERALS, SeenLiterals

MAX_FAILURES = 12
"""Maximum failures whose exceptions are used."""
MAX_CANDIDATES = 400
"""Maximum candidates for one failure."""
DEPTH_COST = 0.15
"""Cost added for each step back in the chain of exceptions (`__cause__`, `__context__`)."""


class EditableFiles:
    """The editable files of the checkout, read on first use.

    Args:
        root: Absolute path of the checkout.
        editable: Returns True if a relative path may be edited.
    """

    def __init__(self, root: str, editable: Any) -> None:
        self.root = root
        self._editable = editable
        self._sources: Dict[str, Optional[SourceFile]] = {}
        self._units: Dict[str, List[Unit]] = {}
        self._dangers: Dict[str, List[Tuple[int, int]]] = {}

    def open(self, path: str) -> Optional[SourceFile]:
        """Return a parsed file, or None if it may not be edited or cannot be read."""
        if path not in self._sources:
            self._sources[path] = self._read(path)
        return self._sources[path]

    def _read(self, path: str) -> Optional[SourceFile]:
        if not path.endswith(".py") or os.path.isabs(path) or not self._editable(path):
            return None
        # A symbolic link must not lead out of the checkout.
        full = os.path.realpath(os.path.join(self.root, path))
        if not full.startswith(os.path.realpath(self.root) + os.sep):
            return None
        try:
            with open(full, "rb") as file:
                return SourceFile(path, file.read())
        except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
            return None

    def enclosing_unit(self, source: SourceFile, edits: Iterable[TextEdit]) -> Optional[Unit]:
        """Return the function whose body contains all these edits, or None."""
        if source.path not in self._units:
            self._units[source.path] = list_units(source, os.path.join(self.root, source.path))
        edits = list(edits)
        for unit in self._units[source.path]:
            start = source.line_span(unit.node.body[0].lineno, unit.node.body[0].lineno)[0]
            end = source.line_span(unit.last_line, unit.last_line)[1]
            # A body on the line of its header has no lines of its own to replace.
            one_line = unit.node.body[0].lineno == unit.node.lineno
            if not one_line and all(start <= e.start and e.end <= end for e in edits):
                return unit
        return None

    def is_safe(self, change: GuidedProposal) -> bool:
        """Return True if a change leaves calls with destructive effects untouched."""
        path = change.source.path
        if path not in self._dangers:
            self._dangers[path] = dangerous_spans(change.source)
        touched = [
            e
            for e in change.edits
            for start, end in self._dangers[path]
            if e.start < end and e.end > start
        ]
        return not touched or change.harmless


def guided_candidates(
    failures: Iterable[FailureRecord],
    checkout: EditableFiles,
    *,
    templates: Mapping[str, Any],
    shifts: Mapping[str, float],
    literals: SeenLiterals = NO_LITERALS,
    seconds: float = 4.0,
) -> Iterator[CandidatePatch]:
    """Yield candidates for the exceptions of failing tests, cheapest first and without duplicates.

    Args:
        failures: Recorded exceptions, most relevant first.
        checkout: The editable files.
        templates: Templates guided by exceptions.
        shifts: Cost adjustments by template name, set by the host.
        literals: Literals of the failing tests.
        seconds: Time limit for searching sources of the checkout and of installed packages.
    """
    lookups = Lookups(checkout.root, seconds)
    found: Dict[Tuple[str, Tuple[TextEdit, ...]], CandidatePatch] = {}
    known = set()
    for failure, extra in _with_earlier(list(failures)[:MAX_FAILURES]):
        # Many tests fail with the same exception; its candidates are needed once.
        key = (failure.kind, failure.message, failure.frames[-3:])
        if key in known:
            continue
        known.add(key)
        view = FailureContext(
            failure, find_spots(failure, checkout.open), checkout.open, lookups, literals
        )
        for candidate in _of_failure(view, checkout, templates, shifts):
            place = (candidate.source.path, candidate.edits)
            priced = candidate._replace(cost=candidate.cost + extra)
            if place not in found or priced.cost < found[place].cost:
                found[place] = priced
    # The index keeps the order deterministic among equal priorities.
    ordered = sorted(enumerate(found.values()), key=lambda pair: (pair[1].priority, pair[0]))
    yield from (candidate for _, candidate in ordered)


def _with_earlier(
    failures: List[FailureRecord], extra: float = 0.0
) -> Iterator[Tuple[FailureRecord, float]]:
    for failure in failures:
        yield failure, extra
        # The first exception of a chain is often closer to the cause than the last.
        earlier = [FailureRecord.from_json(value) for value in failure.extra.get("earlier", ())]
        yield from _with_earlier(earlier, extra + DEPTH_COST)


def _of_failure(
    view: FailureContext,
    checkout: EditableFiles,
    templates: Mapping[str, Any],
    shifts: Mapping[str, float],
) -> List[CandidatePatch]:
    made: List[CandidatePatch] = []
    for name, template in templates.items():
        shift = shifts.get(name, 0.0)
        for change in template.propose(view):
            if not _is_new(change) or not checkout.is_safe(change):
                continue
            unit = checkout.enclosing_unit(change.source, change.edits)
            cost = change.cost + shift
            made.append(
                CandidatePatch(name, cost, 1.0, change.line, change.source, unit, change.edits)
            )
    return sorted(made, key=lambda c: c.cost)[:MAX_CANDIDATES]


def _is_new(change: GuidedProposal) -> bool:
    edits = sorted(change.edits)
    # Overlapping edits cannot be rendered.
    if any(one.end > other.start for one, other in zip(edits, edits[1:])):
        return False
    return any(change.source.data[e.start : e.end] != e.text.encode("utf-8") for e in edits)
