"""Candidates that revert parts of the diff: parts of lines, lines, hunks, files, everything."""

from __future__ import annotations

import ast
from typing import (
    Any,
    Dict,
    Iterable,
    Iterator,
    List,
    Mapping,
    NamedTuple,
    Optional,
    Sequence,
    Tuple,
)

from sandbox.guest.search.candidates.doubts import REQUIRED
from sandbox.guest.search.candidates.generator import CandidatePatch
from sandbox.guest.search.candidates.reverts.parts import (
    LINE,
    WHOLE,
    WORD,
    DiffPart,
    split_hunk,
)
from sandbox.guest.search.source.functions import Unit, unit_around
from sandbox.guest.search.source.render import SourceFile, TextEdit

MAX_PARTS = 120
"""Maximum parts of all hunks together that are offered one by one."""
MAX_FILES = 12
"""Maximum files that are reverted as a whole."""
EARLY = 1.5
"""Reduction of the priority value: reverts are tried sooner than their cost suggests."""
COSTS = {WORD: 1.0, LINE: 1.9, WHOLE: 2.6, "file": 3.2, "all": 3.6}
"""Cost by size of the revert.

A full revert fixes the check but removes what the author wanted, so that a one-token repair ranks
before it.
"""
PER_LINE = 0.02
"""Cost per reverted line, at most 1 in total."""
CHANGED_TESTS_COST = 3.0
"""Cost added if the diff also changed the failing tests, which then require the change."""
MAX_BYTES = 1_500_000
"""Maximum size of a file after the revert."""


class RevertContext(NamedTuple):
    """Context of a diff to revert."""

    units: Tuple[Unit, ...] = ()
    """Functions whose code can be replaced at run time."""
    changed_tests: bool = False
    """True if the diff added or changed the failing tests."""


UNKNOWN = RevertContext()


def revert_candidates(
    hunks: Sequence[Mapping[str, Any]],
    sources: Mapping[str, SourceFile],
    undoing: RevertContext = UNKNOWN,
) -> Iterator[CandidatePatch]:
    """Yield the reverts of parts of the diff, small ones first.

    Args:
        hunks: The diff that broke the check; see `sandbox.types.RedHunk`.
        sources: The editable files, with their current content.
        undoing: Context of the diff.
    """
    known = [(hunk, sources[str(hunk["path"])]) for hunk in hunks if str(hunk["path"]) in sources]
    parts = [part for hunk, source in known for part in split_hunk(hunk, source)][: MAX_PARTS * 2]
    singles = sorted(parts, key=lambda part: (COSTS[part.kind], part.path, part.first))[:MAX_PARTS]
    found: Dict[Any, CandidatePatch] = {}
    for part in singles:
        _offer(found, [part], revert_parts([part], part.kind, sources, undoing))
    wholes = [part for part in parts if part.kind == WHOLE]
    by_file: Dict[str, List[DiffPart]] = {}
    for part in wholes:
        by_file.setdefault(part.path, []).append(part)
    # A file with one hunk is covered by that hunk.
    for path in list(by_file)[:MAX_FILES]:
        if len(by_file[path]) > 1:
            _offer(found, by_file[path], revert_parts(by_file[path], "file", sources, undoing))
    if len(by_file) > 1:
        _offer(found, wholes, revert_parts(wholes, "all", sources, undoing))
    yield from sorted(found.values(), key=lambda candidate: candidate.priority)


def revert_parts(
    parts: Sequence[DiffPart],
    kind: str,
    sources: Mapping[str, SourceFile],
    undoing: RevertContext = UNKNOWN,
) -> Optional[CandidatePatch]:
    """Return a candidate that reverts these parts, or None if the result does not parse."""
    changes = _changes(parts, sources)
    if not changes or not all(_parses(source, edits) for source, edits in changes):
        return None
    (source, edits), *more = changes
    lines = sum(len(part.lines) for part in parts)
    cost = (
        COSTS[kind]
        + min(1.0, PER_LINE * lines)
        + (CHANGED_TESTS_COST if undoing.changed_tests else 0.0)
    )
    unit = None if more else unit_around(source, edits, undoing.units)
    return CandidatePatch(
        template=f"undo_{kind}",
        cost=cost,
        suspicion=1.0,
        line=parts[0].first,
        source=unit.source if unit else source,
        unit=unit,
        edits=edits,
        more=tuple(more),
        summary=_describe(parts, kind) + (f", {REQUIRED}" if undoing.changed_tests else ""),
        head_start=0.0 if undoing.changed_tests else EARLY,
    )


def _offer(
    found: Dict[Any, CandidatePatch], parts: Sequence[DiffPart], candidate: Optional[CandidatePatch]
) -> None:
    if candidate is not None:
        found.setdefault(tuple((part.path, part.edit) for part in parts), candidate)


def _changes(
    parts: Iterable[DiffPart], sources: Mapping[str, SourceFile]
) -> List[Tuple[SourceFile, Tuple[TextEdit, ...]]]:
    edits: Dict[str, List[TextEdit]] = {}
    for part in parts:
        edits.setdefault(part.path, []).append(part.edit)
    return [(sources[path], tuple(sorted(of))) for path, of in edits.items()]


def _parses(source: SourceFile, edits: Tuple[TextEdit, ...]) -> bool:
    try:
        text = source.render(edits)
        return len(text) <= MAX_BYTES and bool(ast.parse(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False


def _describe(parts: Sequence[DiffPart], kind: str) -> str:
    if kind == "all":
        return (
            f"undoes the whole change, in {len(dict.fromkeys(part.path for part in parts))} files"
        )
    if kind == "file":
        return f"undoes every change of {parts[0].path}"
    spans = [f"{p.first}" if p.first == p.last else f"{p.first} to {p.last}" for p in parts[:6]]
    more = f" and {len(parts) - 6} more" if len(parts) > 6 else ""
    words = "a part of the change of line" if kind == WORD else "the change of line"
    plural = "s" if len(parts) > 1 or parts[0].first != parts[0].last else ""
    return f"undoes {words}{plural} {', '.join(spans)}{more}"
