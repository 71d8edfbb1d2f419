"""Edits that people accepted for the same kind of error, tried at the places of this failure.

Authors repeat their mistakes: the edit of an accepted fix is made on every line under suspicion
where its tokens occur. A few such candidates are tried and compared before any general search.
"""

import ast
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from bot.domain.lesson import Lesson, RecalledLesson
from bot.domain.patch import Candidate, FixAttempt
from bot.fixers.rung1_search.attempt import SearchResult, run_search
from bot.fixers.rung1_search.presentation import build_candidate
from bot.fixers.rung1_search.request import build_mission_request, hide_tests, hold_out_tests
from bot.fixers.rung1_search.token_edits import TokenEdit, find_places, read_edits
from bot.fixers.trials import Failure
from bot.ports import Recall
from sandbox.changes.syntax import parse
from sandbox.types import GivenChange, SearchRequest, SpanEdit

MOST_TRIED = 8
MOST_FILES = 6
TIME_LIMIT_S = 60.0
"""Time limit in seconds; a busy machine needs most of it to start, and a few trials end soon."""
SAME_EDIT = 0.9
"""Score of a lesson whose edit fits another place."""
NEAR = 3
"""Lines around a suspect line outside of functions."""


class Transfer(NamedTuple):
    """An accepted edit made at a new place."""

    lesson: Lesson
    edits: tuple[SpanEdit, ...]
    strangers: int


async def try_transferred(
    recall: Recall, failure: Failure, lessons: Sequence[Lesson]
) -> FixAttempt | None:
    """Return a fix made of edits that people accepted; None unless one is likely right.

    Args:
        recall: Past results, for the order of templates.
        failure: The failure, and the workspace on the failing tree, which is left unchanged.
        lessons: Lessons with accepted fixes, most relevant first.
    """
    report = failure.context.test_results
    if report is None or not report.failing or not report.traits.searched_by or not lessons:
        return None
    facts = await failure.workspace.facts()
    request = await build_mission_request(recall, failure.context, failure.diagnosis, facts, report)
    transfers = await _transfers(failure, request, lessons)
    if not transfers:
        return None
    request = request.with_(
        given=tuple(_as_given(one) for one in transfers),
        sources=("given",),
        most_survivors=0,
        red_hunks=(),
        time_limit_s=TIME_LIMIT_S,
    )
    request = hide_tests(request, hold_out_tests(report, failure.context.request.seed))
    found = await run_search(failure.workspace, request)
    candidates = tuple(_candidates(found, transfers))
    if not candidates or not candidates[0].confident:
        return None
    return FixAttempt(
        candidates=candidates,
        candidates_tried=found.tried,
        seconds=found.done.seconds,
        recalled=True,
        recalled_lessons=(_recalled(candidates[0], lessons),),
    )


def _recalled(candidate: Candidate, lessons: Sequence[Lesson]) -> RecalledLesson:
    lesson = next(one for one in lessons if one.id == candidate.recalled_from)
    return RecalledLesson(lesson=lesson, score=SAME_EDIT, reason="same edit")


def _candidates(found: SearchResult, transfers: Sequence[Transfer]) -> Iterator[Candidate]:
    """Yield the ranked fixes, with the template and lesson that each comes from."""
    origins = {frozenset(one.edits): one.lesson for one in transfers}
    for shown in found.shown:
        lesson = origins.get(frozenset(shown.ranked.survivor.edits))
        if lesson is not None:
            candidate = build_candidate(shown, found)
            yield candidate.with_(
                template=lesson.template or candidate.template, recalled_from=lesson.id
            )


def _as_given(one: Transfer) -> GivenChange:
    title = one.lesson.fix.title if one.lesson.fix else ""
    return GivenChange(edits=one.edits, description=f"as before: {title}"[:200], cost=0.5)


async def _transfers(
    failure: Failure, request: SearchRequest, lessons: Sequence[Lesson]
) -> tuple[Transfer, ...]:
    """Return the edits at the suspect places, those in the most alike surroundings first."""
    lines: dict[str, list[int]] = {}
    for suspect in request.suspects:
        lines.setdefault(suspect.file, []).append(suspect.line)
    found: dict[tuple[SpanEdit, ...], Transfer] = {}
    for path in tuple(lines)[:MOST_FILES]:
        text = await failure.workspace.read_file(path)
        if text is None:
            continue
        for transfer in _of_file(path, text, _reach(text, lines[path]), lessons):
            known = found.get(transfer.edits)
            if known is None or transfer.strangers < known.strangers:
                found[transfer.edits] = transfer
    # The sort is stable: among equals the order of suspects and lessons stays.
    return tuple(sorted(found.values(), key=lambda one: one.strangers))[:MOST_TRIED]


def _of_file(
    path: str, text: str, reach: Sequence[int], lessons: Sequence[Lesson]
) -> Iterator[Transfer]:
    """Yield the changes of one file, a line at a time."""
    lines = text.splitlines(keepends=True)
    # Spans count bytes, not characters.
    starts = list(accumulate((len(line.encode()) for line in lines), initial=0))
    edits = _edits_of(lessons)
    for number in reach:
        line = lines[number - 1]
        for edit, lesson in edits:
            for place in find_places(edit, line):
                new = line[: place.start] + edit.new + line[place.end :]
                if new != line:
                    span = SpanEdit(
                        path=path, start=starts[number - 1], end=starts[number], text=new
                    )
                    yield Transfer(lesson, (span,), place.strangers)


def _edits_of(lessons: Sequence[Lesson]) -> list[tuple[TokenEdit, Lesson]]:
    """Return the edit of each fix that consists of a single one."""
    found: dict[TokenEdit, Lesson] = {}
    for lesson in lessons:
        edits = read_edits(lesson.fix.diff) if lesson.fix else ()
        if len(edits) == 1:
            found.setdefault(edits[0], lesson)
    return list(found.items())


def _reach(text: str, suspects: Sequence[int]) -> list[int]:
    """Return the lines of the functions with suspect lines, in the order of suspicion."""
    count = len(text.splitlines())
    tree = parse(text)
    functions = [
        (node.lineno, node.end_lineno or node.lineno)
        for node in (ast.walk(tree) if tree else ())
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    found: dict[int, None] = {}
    for line in suspects:
        around = [span for span in functions if span[0] <= line <= span[1]]
        # The innermost function begins last.
        first, last = max(around, default=(line - NEAR, line + NEAR))
        found.update(dict.fromkeys(range(max(1, first), min(count, last) + 1)))
    return list(found)
