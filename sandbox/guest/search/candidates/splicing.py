"""Edits on top of edits, told as edits of the original text; edits of several candidates joined."""

from __future__ import annotations

from typing import Dict, List, Optional, Sequence, Tuple

from sandbox.guest.search.candidates.generator import Candidate
from sandbox.guest.search.source.render import Edit, Source, splice

Changes = Tuple[Tuple[Source, Tuple[Edit, ...]], ...]


def composed(data: bytes, first: Sequence[Edit], second: Sequence[Edit]) -> Tuple[Edit, ...]:
    """Edits of the original that do what `first` and then `second`, made on its result, do.

    Args:
        data: The original bytes.
        first: Edits of the original.
        second: Edits of the text with the first ones in it.
    """
    rendered = splice(data, tuple(first))
    places: List[Tuple[int, int, Edit]] = []
    shift = 0
    for edit in sorted(first):
        start = edit.start + shift
        end = start + len(edit.text.encode("utf-8"))
        places.append((start, end, edit))
        shift += (end - start) - (edit.end - edit.start)
    spans = sorted([(start, end) for start, end, _ in places] + [(e.start, e.end) for e in second])
    joined: List[List[int]] = []
    for start, end in spans:
        if joined and start <= joined[-1][1]:
            joined[-1][1] = max(joined[-1][1], end)
        else:
            joined.append([start, end])
    result = []
    for start, end in joined:
        inside = [Edit(e.start - start, e.end - start, e.text) for e in second if start <= e.start and e.end <= end]
        text = splice(rendered[start:end], tuple(inside)).decode("utf-8", "replace")
        result.append(Edit(_before(places, start, is_end=False), _before(places, end, is_end=True), text))
    return tuple(result)


def _before(places: Sequence[Tuple[int, int, Edit]], at: int, *, is_end: bool) -> int:
    """Where a place of the edited text was in the original; inside a new text, the border of what it replaced."""
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


def whole_changes(candidate: Candidate, first: Optional[Candidate]) -> Changes:
    """All edits of a candidate as edits of the files on disk, when it stands on a first one."""
    if first is None:
        return candidate.changes
    below = {source.path: (source, edits) for source, edits in first.changes}
    changes: Dict[str, Tuple[Source, Tuple[Edit, ...]]] = dict(below)
    for source, edits in candidate.changes:
        if source.path in below:
            original, earlier = below[source.path]
            changes[source.path] = (original, composed(original.data, earlier, edits))
        else:
            changes[source.path] = (source, edits)
    return tuple(changes.values())


def joint(candidates: Sequence[Candidate]) -> Optional[Candidate]:
    """One candidate that makes the edits of all, or None when they touch the same bytes."""
    changes: Dict[str, Tuple[Source, Tuple[Edit, ...]]] = {}
    for candidate in candidates:
        for source, edits in candidate.changes:
            known, before = changes.get(source.path, (source, ()))
            together = (*before, *edits)
            try:
                known.render(together)
            except ValueError:
                return None
            changes[source.path] = (known, together)
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
        said="; ".join(c.description for c in candidates)[:300],
    )
