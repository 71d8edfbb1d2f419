"""Changes that the host brings: candidates like any other, tried first."""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Mapping, Optional, Tuple

from sandbox.guest.search.candidates.generator import Candidate
from sandbox.guest.search.source.functions import unit_around
from sandbox.guest.search.source.render import Edit, Source

TEMPLATE = "given"
EARLY = 20.0
"""How much sooner they are tried than their cost says: before everything else."""


def given_candidates(known: Any) -> Iterator[Candidate]:
    """Every given change that fits the files, in order.

    Args:
        known: The situation of the search.
    """
    sources = {source.path: source for source in known.sources}
    for change in known.request.given:
        candidate = _candidate(change, known, sources)
        if candidate is not None:
            yield candidate


def _candidate(change: Mapping[str, Any], known: Any, sources: Dict[str, Source]) -> Optional[Candidate]:
    by_path: Dict[str, List[Edit]] = {}
    for edit in change["edits"]:
        by_path.setdefault(str(edit["path"]), []).append(Edit(int(edit["start"]), int(edit["end"]), str(edit["text"])))
    changes: List[Tuple[Source, Tuple[Edit, ...]]] = []
    for path, edits in by_path.items():
        source = sources.get(path) or known.source_of(path)
        if source is None or not _fits(source, edits):
            return None
        sources[path] = source
        changes.append((source, tuple(edits)))
    if not changes:
        return None
    lines = [(source.path, _lines_of(source, edits)) for source, edits in changes]
    (first, of_first), *more = changes
    unit = None if more else unit_around(first, of_first, known.units)
    return Candidate(
        template=TEMPLATE,
        cost=float(change.get("cost", 1.0)),
        suspicion=max(known.suspicion.at(path, of_file) for path, of_file in lines),
        line=lines[0][1][0],
        source=unit.source if unit else first,
        unit=unit,
        edits=of_first,
        more=tuple(more),
        said=str(change.get("description", "")) or "a given change",
        early=EARLY,
    )


def _fits(source: Source, edits: List[Edit]) -> bool:
    try:
        return source.render(tuple(edits)) != source.data
    except ValueError:
        return False


def _lines_of(source: Source, edits: Tuple[Edit, ...]) -> List[int]:
    """The lines that edits replace; where they only add, the line they stand before."""
    found: List[int] = []
    for edit in sorted(edits):
        first = source.data.count(b"\n", 0, edit.start) + 1
        found += range(first, max(first, source.data.count(b"\n", 0, edit.end - 1) + 1) + 1)
    return found
