"""Edits that people accepted for the same kind of error, made at the places of this failure.

Authors repeat their mistakes: the edit of an accepted fix is made on every line under suspicion
where its tokens occur. The search tries these candidates before all others, and ends if one of
them is clearly right. Of the ways to write a fix that behaved alike, each is tried: an author who
wrote `<` for `<=` was perhaps repaired by another number, which fits no other place.
"""

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice
from typing import NamedTuple

from bot.domain.lesson import SHARED, Lesson, RecalledLesson
from bot.domain.mission import MissionContext
from bot.domain.patch import Candidate
from bot.errors import MetaAgentError
from bot.fixers.rung1_search.attempt import RankedFix, SearchResult, run_search
from bot.fixers.rung1_search.presentation import build_candidate
from bot.fixers.rung1_search.token_edits import TokenEdit, find_places, read_edits
from bot.ports import Recall, Workspace
from sandbox.changes.syntax import parse
from sandbox.types import GivenChange, SearchRequest, SpanEdit, apply_spans

MOST_TRIED = 12
MOST_FILES = 6
SAME_EDIT = 0.9
"""Score of a lesson whose edit fits another place."""
COST, PER_WAY = 0.5, 0.1
"""Cost of such an edit in the ranking, below that of every template, and for each better way to
write it."""
LEAST_S = 1.0
"""Least time of a search, in seconds."""
NEAR = 3
"""Lines around a suspect line outside of functions."""


class Transfer(NamedTuple):
    """An accepted edit made at a new place."""

    lesson: Lesson
    template: str
    description: str
    edits: tuple[SpanEdit, ...]
    strangers: int
    cost: float


@dataclass(frozen=True)
class Transfers:
    """The accepted edits that fit the places of a failure."""

    found: tuple[Transfer, ...] = ()

    async def search(
        self, workspace: Workspace, request: SearchRequest
    ) -> tuple[SearchResult, int]:
        """Search with these edits first; return the result and the number of tried candidates.

        Args:
            workspace: The tree to search.
            request: The request without them.
        """
        given = tuple(
            GivenChange(edits=one.edits, description=one.description[:200], cost=one.cost)
            for one in self.found
        )
        request = request.with_(given=given, given_may_end=bool(given))
        found = await self._run(workspace, request)
        tried = found.tried
        is_short = tried <= len(given) and found.done.reason == "enough"
        if given and is_short and not any(one.ranked.confident for one in found.shown):
            # The ranking doubts what ended the search.
            left = max(LEAST_S, request.time_limit_s - found.done.seconds)
            request = request.with_(given_may_end=False, time_limit_s=left)
            found = await self._run(workspace, request)
            tried += found.tried
        return found, tried

    async def _run(self, workspace: Workspace, request: SearchRequest) -> SearchResult:
        return await run_search(
            workspace,
            request,
            kind_of=lambda edits: one.template if (one := self.find(edits)) else None,
            is_accepted=lambda edits: self.find(edits) is not None,
        )

    def find(self, edits: Sequence[SpanEdit]) -> Transfer | None:
        """Return the transfer with these edits, if there is one."""
        wanted = frozenset(edits)
        return next((one for one in self.found if frozenset(one.edits) == wanted), None)

    def build_candidate(self, shown: RankedFix, found: SearchResult) -> Candidate:
        """Convert a ranked fix to a candidate that names its lesson, if it has one."""
        one = self.find(shown.ranked.survivor.edits)
        return build_candidate(shown, found).with_(recalled_from=one.lesson.id if one else "")

    def recalled(self, candidates: Sequence[Candidate]) -> tuple[RecalledLesson, ...]:
        """Return the lesson of the first candidate, if it has one."""
        first = candidates[0].recalled_from if candidates else ""
        used = next((one.lesson for one in self.found if one.lesson.id == first), None)
        if used is None:
            return ()
        # Missions and their records keep it: the code around the edit stays where it was learned.
        kept = used.with_(fix=None) if used.repository_id == SHARED else used
        return (RecalledLesson(lesson=kept, score=SAME_EDIT, reason="same edit"),)


async def plan_transfers(
    recall: Recall, context: MissionContext, workspace: Workspace, request: SearchRequest
) -> Transfers:
    """Return the edits that people accepted for the same kind of error, at the suspect places.

    Args:
        recall: The lessons of this repository.
        context: The mission with the red run.
        workspace: Workspace on the failing tree; it is only read.
        request: The request of the search, with its suspects.
    """
    report = context.test_results
    if report is None or _failed_before(context):
        return Transfers()
    error = next((one.error for one in report.failures if one.error), None)
    key = context.request.memory_key
    try:
        lessons = await recall.accepted(repository_id=key, error=error)
        refused = await recall.refused(repository_id=key) if lessons else ()
    except MetaAgentError:
        return Transfers()
    # A fix of this test that people refused would end the search, and then be left out.
    if not lessons or any(report.failing & set(one.tests) for one in refused):
        return Transfers()
    return Transfers(await _transfers(workspace, request, lessons))


def _failed_before(context: MissionContext) -> bool:
    """Return True if a recalled change was rejected in this mission: the whole search is next."""
    return any(
        one.candidate is not None
        and one.candidate.recalled_from
        and not (one.verification is not None and one.verification.partial)
        for one in context.iterations
    )


def _describe(edit: TokenEdit) -> str:
    old, new = " ".join(edit.old), edit.new.strip()
    changed = f"`{old}` became `{new}`" if old else f"`{new}` added"
    return f"{changed}, as people accepted elsewhere"


async def _transfers(
    workspace: Workspace, request: SearchRequest, lessons: Sequence[Lesson]
) -> tuple[Transfer, ...]:
    """Return the edits at the suspect places, those in the most alike surroundings first."""
    lines: dict[str, list[int]] = {}
    for suspect in request.suspects:
        lines.setdefault(suspect.file, []).append(suspect.line)
    found: dict[tuple[SpanEdit, ...], Transfer] = {}
    texts: dict[str, str] = {}
    for path in tuple(lines)[:MOST_FILES]:
        text = await workspace.read_file(path)
        if text is None:
            continue
        texts[path] = text
        for transfer in _of_file(path, text, _reach(text, lines[path]), lessons):
            known = found.get(transfer.edits)
            if known is None or transfer.strangers < known.strangers:
                found[transfer.edits] = transfer
    # The sort is stable: among equals the order of suspects and lessons stays.
    ordered = sorted(found.values(), key=lambda one: one.strangers)
    return tuple(islice((one for one in ordered if _is_source(one, texts)), MOST_TRIED))


def _is_source(one: Transfer, texts: Mapping[str, str]) -> bool:
    """Return True if the edited file can be parsed."""
    return parse(apply_spans(texts[one.edits[0].path], one.edits)) is not None


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
        for edit, (lesson, template, cost) in edits.items():
            for place in find_places(edit, line):
                new = line[: place.start] + place.text + line[place.end :]
                if new != line:
                    span = SpanEdit(
                        path=path, start=starts[number - 1], end=starts[number], text=new
                    )
                    yield Transfer(
                        lesson, template, _describe(edit), (span,), place.strangers, cost
                    )


def _edits_of(lessons: Sequence[Lesson]) -> dict[TokenEdit, tuple[Lesson, str, float]]:
    """Return lesson, template and cost of each small edit, and of those that behaved like it."""
    found: dict[TokenEdit, tuple[Lesson, str, float]] = {}
    for lesson in lessons:
        if lesson.fix is None:
            continue
        ways = [(lesson.template or "", lesson.fix.diff)]
        ways += [(one.template, one.diff) for one in lesson.fix.alike]
        for number, (template, diff) in enumerate(ways):
            edits = read_edits(diff)
            if len(edits) == 1:
                found.setdefault(edits[0], (lesson, template, COST + PER_WAY * number))
    return found


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
