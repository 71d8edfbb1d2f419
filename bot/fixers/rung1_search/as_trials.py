"""SearchTrials: candidates of any origin, tried, ranked and improved with what the search has."""

import time
from collections.abc import Mapping, Sequence

from bot.domain.patch import Candidate
from bot.fixers.rung1_search.attempt import Attempt, Shown, attempt
from bot.fixers.rung1_search.changes import identity_of
from bot.fixers.rung1_search.given import given_change
from bot.fixers.rung1_search.onward import search_onward
from bot.fixers.rung1_search.rank_shown import candidate_of, compared_words
from bot.fixers.rung1_search.request import request_of
from bot.fixers.rung1_search.trial_runs import Made, Seen, made_of, seen_with
from bot.fixers.trials import Failure, Proposed, Tried, best_first
from bot.ports import Recall
from sandbox.types import GivenChange, SpanEdit, TestReport

RANKING_S, LEAST_RANKING_S = 20.0, 3.0
"""How long changes that pass may be compared at the most, and for how much time that is not begun."""
SPARE_S = 1.0
UNCOMPARED = 0.4
"""The score of a change that passes in a plain run and could not be compared with anything."""
NO_TIME = "there was no time to try it"


class SearchTrials:
    """Tries changes in the sandbox.

    A plain run shows what a change mends and breaks. Those that pass go through the search like candidates of its own:
    confirmed by its lanes, compared with each other and with the program before, ranked by its measure.

    Args:
        recall: What worked before, for the order of templates.
    """

    def __init__(self, recall: Recall) -> None:
        self._recall = recall

    async def try_changes(
        self, failure: Failure, proposed: Sequence[Proposed], *, time_limit_s: float
    ) -> tuple[Tried, ...]:
        """Each change tried; those that pass first, ranked by one measure."""
        ends = time.monotonic() + time_limit_s
        before = failure.context.test_results
        runs = [await _run(failure, one, before, ends) for one in proposed]
        given = {
            one.id: change
            for one, (made, seen) in zip(proposed, runs, strict=True)
            if seen is not None and seen.passes and (change := given_change(one, made.edits, dict(made.originals)))
        }
        found = await self._ranked(failure, before, tuple(given.values()), ends) if before else None
        shown = {_key(one.ranked.survivor.edits): one for one in found.shown} if found else {}
        ids = _ids(found, given) if found else {}
        tried = []
        for one, (made, seen) in zip(proposed, runs, strict=True):
            if seen is None:
                tried.append(Tried(proposed=one, passes=False, output=made.refused or NO_TIME))
                continue
            place = shown.get(_key(given[one.id].edits)) if one.id in given else None
            tried.append(_tried(one, seen, place, found, ids=ids))
        return best_first(tried)

    async def search_from(
        self, failure: Failure, start: Proposed, *, time_limit_s: float, max_candidates: int
    ) -> tuple[Tried, ...]:
        """The search, begun from a change that does not pass yet."""
        return await search_onward(
            self._recall, failure, start, time_limit_s=time_limit_s, max_candidates=max_candidates
        )

    async def _ranked(
        self, failure: Failure, before: TestReport, given: tuple[GivenChange, ...], ends: float
    ) -> Attempt | None:
        """The changes that pass, through the search; None where that does not work."""
        seconds = min(RANKING_S, ends - time.monotonic() - SPARE_S)
        if not given or seconds < LEAST_RANKING_S or not before.knows_tests:
            return None
        facts = await failure.workspace.facts()
        request = await request_of(self._recall, failure.context, failure.diagnosis, facts, before)
        request = request.with_(
            given=given, sources=("given",), max_survivors=len(given), red_hunks=(), time_limit_s=seconds
        )
        return await attempt(failure.workspace, request)


async def _run(failure: Failure, one: Proposed, before: TestReport | None, ends: float) -> tuple[Made, Seen | None]:
    made = await made_of(failure.workspace, one.changes)
    left = ends - time.monotonic()
    if made.refused or before is None or left <= 0:
        return made, None
    return made, await seen_with(failure.workspace, one.changes, before, time_limit_s=left)


def _ids(found: Attempt, given: Mapping[str, GivenChange]) -> dict[str, str]:
    """Return, by the id a candidate has in the search, the id it was proposed with."""
    proposed = {_key(change.edits): name for name, change in given.items()}
    return {
        identity_of(survivor.edits): proposed[_key(survivor.edits)]
        for survivor in found.survivors
        if _key(survivor.edits) in proposed
    }


def _tried(one: Proposed, seen: Seen, shown: Shown | None, found: Attempt | None, *, ids: Mapping[str, str]) -> Tried:
    candidate = None
    if seen.passes and shown and found:
        candidate = _ranked_candidate(one, shown, found)
        rivals = (r.with_(candidate_id=ids.get(r.candidate_id, "")) for r in candidate.rivals)
        candidate = candidate.with_(rivals=tuple(rivals))
    elif seen.passes:
        candidate = _plain_candidate(one, seen)
    return Tried(
        proposed=one,
        passes=seen.passes,
        mended=seen.mended,
        still_failing=seen.still_failing,
        broke=seen.broke,
        output=seen.output,
        score=candidate.score if candidate else None,
        candidate=candidate,
    )


def _ranked_candidate(one: Proposed, shown: Shown, found: Attempt) -> Candidate:
    return candidate_of(shown, found).with_(
        id=one.id,
        rung=one.rung,
        fixer=one.fixer,
        title=one.title,
        explanation=one.explanation + compared_words(shown.ranked),
        changes=one.changes,
        candidates_tried=1,
    )


def _plain_candidate(one: Proposed, seen: Seen) -> Candidate:
    """One that could not go through the search: a new file, another language, tests that it cannot run in its lanes."""
    unseen = () if seen.whole else ("only the failing tests were run with it",)
    return one.as_candidate(
        template="given",
        candidates_tried=1,
        warnings=(*unseen, "its behaviour was not compared with that of others"),
        score=UNCOMPARED,
        confident=False,
    )


def _key(edits: Sequence[SpanEdit]) -> frozenset[tuple[str, int, int, str]]:
    return frozenset((edit.path, edit.start, edit.end, edit.text) for edit in edits)
