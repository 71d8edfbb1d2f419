"""Candidates supplied by the host, tried before all others."""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Mapping, Optional, Tuple

from sandbox.guest.search.candidates.generator import CandidatePatch
from sandbox.guest.search.source.functions import unit_around
from sandbox.guest.search.source.render import SourceFile, TextEdit

TEMPLATE = "given"
EARLY = 20.0
"""Reduction of the priority value; large enough to outrank every other source."""


def supplied_candidates(context: Any) -> Iterator[CandidatePatch]:
    """Yield a candidate for every supplied change that fits the current files.

    Args:
        context: Context of the search.
    """
    sources = {source.path: source for source in context.code.sources}
    for change in context.request.given:
        candidate = _candidate(change, context, sources)
        if candidate is not None:
            yield candidate


def _candidate(
    change: Mapping[str, Any], context: Any, sources: Dict[str, SourceFile]
) -> Optional[CandidatePatch]:
    by_path: Dict[str, List[TextEdit]] = {}
    for edit in change["edits"]:
        by_path.setdefault(str(edit["path"]), []).append(
            TextEdit(int(edit["start"]), int(edit["end"]), str(edit["text"]))
        )
    changes: List[Tuple[SourceFile, Tuple[TextEdit, ...]]] = []
    for path, edits in by_path.items():
        # A supplied change may touch files that the search does not consider suspicious.
        source = sources.get(path) or context.files.load(path)
        if source is None or not _fits(source, edits):
            return None
        sources[path] = source
        changes.append((source, tuple(edits)))
    if not changes:
        return None
    lines = [(source.path, _edited_lines(source, edits)) for source, edits in changes]
    (first, of_first), *more = changes
    unit = None if more else unit_around(first, of_first, context.code.units)
    return CandidatePatch(
        template=TEMPLATE,
        cost=float(change.get("cost", 1.0)),
        suspicion=max(context.code.suspicion.at(path, of_file) for path, of_file in lines),
        line=lines[0][1][0],
        source=unit.source if unit else first,
        unit=unit,
        edits=of_first,
        more=tuple(more),
        summary=str(change.get("description", "")) or "a supplied change",
        head_start=EARLY,
    )


def _fits(source: SourceFile, edits: List[TextEdit]) -> bool:
    try:
        # An edit may refer to an older content; it then overlaps or is out of range.
        return source.render(tuple(edits)) != source.data
    except ValueError:
        return False


def _edited_lines(source: SourceFile, edits: Tuple[TextEdit, ...]) -> List[int]:
    """Return the replaced lines; for a pure insertion, the line it precedes."""
    found: List[int] = []
    for edit in sorted(edits):
        first = source.data.count(b"\n", 0, edit.start) + 1
        found += range(first, max(first, source.data.count(b"\n", 0, edit.end - 1) + 1) + 1)
    return found
