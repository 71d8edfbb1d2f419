"""Compose edits made on top of other edits, and join the edits of several candidates."""

from __future__ import annotations

from typing import Dict, List, Optional, Sequence, Tuple

from sandbox.guest.search.candidates.generator import CandidatePatch
from sandbox.guest.search.source.render import SourceFile, TextEdit, splice

Changes = Tuple[Tuple[SourceFile, Tuple[TextEdit, ...]], ...]


def compose(
    data: bytes, first: Sequence[TextEdit], second: Sequence[TextEdit]
) -> Tuple[TextEdit, ...]:
    """Return edits of the original equivalent to applying `first` and then `second`.

    Args:
        data: The original bytes.
        first: Edits of the original.
        second: Edits of the text that results from `first`.
    """
    rendered = splice(data, tuple(first))
    places: List[Tuple[int, int, TextEdit]] = []
    shift = 0
    for edit in sorted(first):
        start = edit.start + shift
        end = start + len(edit.text.encode("utf-8"))
        places.append((start, end, edit))
        shift += (end - start) - (edit.end - edit.start)
    # Overlapping or touching spans of both edits become one edit.
    spans = sorted([(start, end) for start, end, _ in places] + [(e.start, e.end) for e in second])
    joined: List[List[int]] = []
    for start, end in spans:
        if joined and start <= joined[-1][1]:
            joined[-1][1] = max(joined[-1][1], end)
        else:
            joined.append([start, end])
    result = []
    for start, end in joined:
        inside = [
            TextEdit(e.start - start, e.end - start, e.text)
            for e in second
            if start <= e.start and e.end <= end
        ]
        text = splice(rendered[start:end], tuple(inside)).decode("utf-8", "replace")
        result.append(
            TextEdit(_before(places, start, is_end=False), _before(places, end, is_end=True), text)
        )
    return tuple(result)


def _before(places: Sequence[Tuple[int, int, TextEdit]], at: int, *, is_end: bool) -> int:
    """Map an offset in the edited text to the original.

    Inside inserted text, this is the border of the replaced range.
    """
    shift = 0
    for start, end, edit in places:
        if at < start or (at == start and not is_end):
            break
        if at == start and is_end and start < end:
            break
        if at < end and not is_end:
            return edit.start
        if at <= end and is_end:
            return edit.end
        shift += (end - start) - (edit.end - edit.start)
    return at - shift


def changes_on_disk(candidate: CandidatePatch, first: Optional[CandidatePatch]) -> Changes:
    """Return all edits of a candidate relative to the files on disk, including those of `first`."""
    if first is None:
        return candidate.changes
    below = {source.path: (source, edits) for source, edits in first.changes}
    changes: Dict[str, Tuple[SourceFile, Tuple[TextEdit, ...]]] = dict(below)
    for source, edits in candidate.changes:
        if source.path in below:
            original, earlier = below[source.path]
            changes[source.path] = (original, compose(original.data, earlier, edits))
        else:
            changes[source.path] = (source, edits)
    return tuple(changes.values())


def join_candidates(candidates: Sequence[CandidatePatch]) -> Optional[CandidatePatch]:
    """Return one candidate with the edits of all, or None if they overlap."""
    changes: Dict[str, Tuple[SourceFile, Tuple[TextEdit, ...]]] = {}
    for candidate in candidates:
        for source, edits in candidate.changes:
            known, before = changes.get(source.path, (source, ()))
            together = (*before, *edits)
            try:
                known.render(together)
            except ValueError:
                return None
            changes[source.path] = (known, together)
    # The first file is the candidate's own; further files go to `more`.
    (source, edits), *more = changes.values()
    units = {c.unit for c in candidates}
    return candidates[0]._replace(
        template="+".join(c.template for c in candidates),
        cost=sum(c.cost for c in candidates),
        suspicion=min(c.suspicion for c in candidates),
        source=source,
        edits=edits,
        more=tuple(more),
        unit=units.pop() if len(units) == 1 else None,
        summary="; ".join(c.description for c in candidates)[:300],
        origin="joined",
    )
