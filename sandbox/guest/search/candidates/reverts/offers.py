"""Candidates that undo: parts of changed lines first, then lines, hunks, files, and everything."""

from __future__ import annotations

import ast
from typing import Any, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from sandbox.guest.search.candidates.doubts import ASKED
from sandbox.guest.search.candidates.generator import Candidate
from sandbox.guest.search.candidates.reverts.parts import LINE, WHOLE, WORD, Part, atoms_of, parts_of
from sandbox.guest.search.source.functions import Unit, unit_around
from sandbox.guest.search.source.render import Edit, Source

MOST_PARTS = 120
"""Parts of all hunks together that are offered alone."""
MOST_FILES = 12
EARLY = 1.5
"""Undoing is tried sooner than its cost in the ranking says."""
COSTS = {WORD: 1.0, LINE: 1.9, WHOLE: 2.6, "file": 3.2, "all": 3.6}
"""What it costs in the ranking: a repair of one token inside a changed line is to stand before the whole change undone,
which mends the check and takes away what the author wanted."""
PER_LINE = 0.02
ASKED_FOR = 3.0
"""Added when the diff also wrote or changed the failing tests: they ask for the change."""
MOST_BYTES = 1_500_000


class Undoing(NamedTuple):
    """What is known about the diff."""

    units: Tuple[Unit, ...] = ()
    """Functions whose code can be swapped."""
    asked_for: bool = False
    """The diff wrote or changed the failing tests."""


UNKNOWN = Undoing()


def revert_candidates(
    hunks: Sequence[Mapping[str, Any]], sources: Mapping[str, Source], undoing: Undoing = UNKNOWN
) -> Iterator[Candidate]:
    """Every way to undo a part of the diff, small ones first.

    Args:
        hunks: The diff that turned the check red; see `sandbox.types.RedHunk`.
        sources: The files that may be edited, as they are.
        undoing: What is known about the diff.
    """
    known = [(hunk, sources[str(hunk["path"])]) for hunk in hunks if str(hunk["path"]) in sources]
    parts = [part for hunk, source in known for part in parts_of(hunk, source)][: MOST_PARTS * 2]
    singles = sorted(parts, key=lambda part: (COSTS[part.kind], part.path, part.first))[:MOST_PARTS]
    found: Dict[Any, Candidate] = {}
    for part in singles:
        _offer(found, [part], undoing_of([part], part.kind, sources, undoing))
    wholes = [part for part in parts if part.kind == WHOLE]
    by_file: Dict[str, List[Part]] = {}
    for part in wholes:
        by_file.setdefault(part.path, []).append(part)
    for path in list(by_file)[:MOST_FILES]:
        if len(by_file[path]) > 1:
            _offer(found, by_file[path], undoing_of(by_file[path], "file", sources, undoing))
    if len(by_file) > 1:
        _offer(found, wholes, undoing_of(wholes, "all", sources, undoing))
    yield from sorted(found.values(), key=lambda candidate: candidate.priority)


def atoms(hunks: Sequence[Mapping[str, Any]], sources: Mapping[str, Source]) -> List[Part]:
    """What the smallest undoing is looked for among: lines, in all files."""
    known = [(hunk, sources[str(hunk["path"])]) for hunk in hunks if str(hunk["path"]) in sources]
    return [part for hunk, source in known for part in atoms_of(hunk, source)]


def undoing_of(
    parts: Sequence[Part], kind: str, sources: Mapping[str, Source], undoing: Undoing = UNKNOWN
) -> Optional[Candidate]:
    """A candidate that undoes these parts; None when that leaves no Python."""
    changes = _changes(parts, sources)
    if not changes or not all(_parses(source, edits) for source, edits in changes):
        return None
    (source, edits), *more = changes
    lines = sum(len(part.lines) for part in parts)
    cost = COSTS[kind] + min(1.0, PER_LINE * lines) + (ASKED_FOR if undoing.asked_for else 0.0)
    unit = None if more else unit_around(source, edits, undoing.units)
    return Candidate(
        template=f"undo_{kind}",
        cost=cost,
        suspicion=1.0,
        line=parts[0].first,
        source=unit.source if unit else source,
        unit=unit,
        edits=edits,
        more=tuple(more),
        said=_said(parts, kind) + (f", {ASKED}" if undoing.asked_for else ""),
        early=0.0 if undoing.asked_for else EARLY,
    )


def _offer(found: Dict[Any, Candidate], parts: Sequence[Part], candidate: Optional[Candidate]) -> None:
    if candidate is not None:
        found.setdefault(tuple((part.path, part.edit) for part in parts), candidate)


def _changes(parts: Iterable[Part], sources: Mapping[str, Source]) -> List[Tuple[Source, Tuple[Edit, ...]]]:
    edits: Dict[str, List[Edit]] = {}
    for part in parts:
        edits.setdefault(part.path, []).append(part.edit)
    return [(sources[path], tuple(sorted(of))) for path, of in edits.items()]


def _parses(source: Source, edits: Tuple[Edit, ...]) -> bool:
    try:
        text = source.render(edits)
        return len(text) <= MOST_BYTES and bool(ast.parse(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False


def _said(parts: Sequence[Part], kind: str) -> str:
    if kind == "all":
        return f"undoes the whole change, in {len(dict.fromkeys(part.path for part in parts))} files"
    if kind == "file":
        return f"undoes every change of {parts[0].path}"
    spans = [f"{p.first}" if p.first == p.last else f"{p.first} to {p.last}" for p in parts[:6]]
    more = f" and {len(parts) - 6} more" if len(parts) > 6 else ""
    words = "a part of the change of line" if kind == WORD else "the change of line"
    plural = "s" if len(parts) > 1 or parts[0].first != parts[0].last else ""
    return f"undoes {words}{plural} {', '.join(spans)}{more}"
