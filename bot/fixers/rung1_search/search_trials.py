"""SearchTrials: validate, rank and refine candidates of any origin with the search."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bot.domain.patch import Candidate
from bot.fixers.rung1_search.attempt import RankedFix, SearchResult, run_search
from bot.fixers.rung1_search.changes import hash_edits
from bot.fixers.rung1_search.continued_search import search_onward
from bot.fixers.rung1_search.presentation import build_candidate, describe_comparison
from bot.fixers.rung1_search.rank_features import WRITTEN, answer_kinds, join_kinds
from bot.fixers.rung1_search.request import build_mission_request, is_searchable
from bot.fixers.rung1_search.span_edits import convert_change
from bot.fixers.rung1_search.trial_runs import (
    ResolvedChanges,
    RunComparison,
    resolve_changes,
    run_with_changes,
)
from bot.fixers.trials import UNCOMPARED, Failure, Proposed, Tried, best_first
from bot.ports import Recall
from sandbox.types import GivenChange, SpanEdit, TestReport

RANKING_S, LEAST_RANKING_S = 20.0, 3.0
"""Longest comparison of passing changes, and the least time worth starting one, both in seconds."""
SPARE_S = 1.0
_Edit = tuple[str, int, int, str]
NO_TIME = "there was no time to try it"


class SearchTrials:
    """Runs proposed changes in the sandbox.

    A plain run shows which tests a change fixes and breaks. Passing changes then go through the
    search like its own candidates: confirmed, compared with each other and with the original
    program, and ranked by the same measure.

    Args:
        recall: Past results, for the order of templates.
        ranking_s: Longest comparison of passing changes, in seconds.
    """

    def __init__(self, recall: Recall, *, ranking_s: float = RANKING_S) -> None:
        self._recall = recall
        self._ranking_s = ranking_s

    async def try_changes(
        self,
        failure: Failure,
        proposed: Sequence[Proposed],
        *,
        time_limit_s: float,
        rivals: Sequence[Proposed] = (),
    ) -> tuple[Tried, ...]:
        """Run each change and return the results, passing ones first by rank."""
        ends = time.monotonic() + time_limit_s
        before = failure.context.test_results
        runs = [await _run(failure, one, before, ends) for one in proposed]
        passing = [
            (one, made)
            for one, (made, seen) in zip(proposed, runs, strict=True)
            if seen is not None and seen.passes
        ]
        # Without a new passing change, rivals are compared with each other.
        if passing or not proposed:
            passing += [
                (one, await resolve_changes(failure.workspace, one.changes)) for one in rivals
            ]
        given = _given(passing)
        found = await self._rank(failure, before, given, ends) if before else None
        shown = {_key(one.ranked.survivor.edits): one for one in found.shown} if found else {}
        ids = _ids(found, given) if found else {}
        tried = []
        for one, (made, seen) in zip(proposed, runs, strict=True):
            if seen is None:
                tried.append(Tried(proposed=one, passes=False, output=made.refused or NO_TIME))
                continue
            place = shown.get(_key(given[one.id].edits)) if one.id in given else None
            tried.append(_try(one, seen, place, found, ids=ids))
        for one in rivals:
            place = shown.get(_key(given[one.id].edits)) if one.id in given else None
            if place is not None and found is not None:
                candidate = _ranked_candidate(one, place, found, ids)
                tried.append(
                    Tried(proposed=one, passes=True, score=candidate.score, candidate=candidate)
                )
        return best_first(tried)

    async def search_from(
        self, failure: Failure, start: Proposed, *, time_limit_s: float, max_candidates: int
    ) -> tuple[Tried, ...]:
        """Search from a change that does not pass yet."""
        return await search_onward(
            self._recall, failure, start, time_limit_s=time_limit_s, max_candidates=max_candidates
        )

    async def _rank(
        self, failure: Failure, before: TestReport, given: Mapping[str, "_Given"], ends: float
    ) -> SearchResult | None:
        """Rank the passing changes with the search; return None if it cannot run."""
        seconds = min(self._ranking_s, ends - time.monotonic() - SPARE_S)
        if not given or seconds < LEAST_RANKING_S or not is_searchable(before):
            return None
        facts = await failure.workspace.facts()
        request = await build_mission_request(
            self._recall, failure.context, failure.diagnosis, facts, before
        )
        # Equal edits of several sources are one change, whose kinds agree.
        cheapest_last = sorted(given.values(), key=lambda one: -one.change.cost)
        once = {_key(one.edits): one.change for one in cheapest_last}
        kinds: dict[frozenset[_Edit], str] = {}
        for number, one in enumerate(given.values()):
            own = one.kind if one.kind != WRITTEN else answer_kinds(number, one.votes)
            kinds[_key(one.edits)] = join_kinds(kinds.get(_key(one.edits), ""), own)
        request = request.with_(
            given=tuple(once.values()),
            sources=("given",),
            max_survivors=len(once),
            most_survivors=0,
            red_hunks=(),
            time_limit_s=seconds,
        )
        return await run_search(
            failure.workspace, request, kind_of=lambda edits: kinds.get(_key(edits))
        )


async def _run(
    failure: Failure, one: Proposed, before: TestReport | None, ends: float
) -> tuple[ResolvedChanges, RunComparison | None]:
    made = await resolve_changes(failure.workspace, one.changes)
    left = ends - time.monotonic()
    if made.refused or before is None or left <= 0:
        return made, None
    return made, await run_with_changes(failure.workspace, one.changes, before, time_limit_s=left)


@dataclass(frozen=True)
class _Given:
    """A passing change as the search compares it."""

    change: GivenChange
    kind: str
    votes: int

    @property
    def edits(self) -> tuple[SpanEdit, ...]:
        return self.change.edits


def _given(passing: Sequence[tuple[Proposed, ResolvedChanges]]) -> dict[str, _Given]:
    """Return the changes that the search can compare, by id."""
    converted = (
        (one, convert_change(one, made.edits, dict(made.originals)))
        for one, made in passing
        if not made.refused
    )
    return {one.id: _Given(change, one.template, one.votes) for one, change in converted if change}


def _ids(found: SearchResult, given: Mapping[str, _Given]) -> dict[str, str]:
    """Map each candidate's id in the search to the id it was proposed with."""
    proposed = {_key(change.edits): name for name, change in given.items()}
    return {
        hash_edits(survivor.edits): proposed[_key(survivor.edits)]
        for survivor in found.survivors
        if _key(survivor.edits) in proposed
    }


def _try(
    one: Proposed,
    seen: RunComparison,
    shown: RankedFix | None,
    found: SearchResult | None,
    *,
    ids: Mapping[str, str],
) -> Tried:
    candidate = None
    if seen.passes and shown and found:
        candidate = _ranked_candidate(one, shown, found, ids)
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


def _ranked_candidate(
    one: Proposed, shown: RankedFix, found: SearchResult, ids: Mapping[str, str]
) -> Candidate:
    candidate = build_candidate(shown, found)
    return candidate.with_(
        id=one.id,
        rung=one.rung,
        fixer=one.fixer,
        template=one.template,
        title=one.title,
        explanation=one.explanation + describe_comparison(shown.ranked),
        changes=one.changes,
        candidates_tried=1,
        # The search has its own ids; callers know the proposed ones.
        rivals=tuple(r.with_(candidate_id=ids.get(r.candidate_id, "")) for r in candidate.rivals),
    )


def _plain_candidate(one: Proposed, seen: RunComparison) -> Candidate:
    """Build a candidate that the search cannot rank.

    Examples: a new file, another language, or tests that the search cannot run.
    """
    unseen = () if seen.whole else ("only the failing tests were run with this change",)
    return one.as_candidate(
        candidates_tried=1,
        warnings=(*unseen, "its behaviour was not compared with other changes"),
        score=UNCOMPARED,
        confident=False,
    )


def _key(edits: Sequence[SpanEdit]) -> frozenset[_Edit]:
    return frozenset((edit.path, edit.start, edit.end, edit.text) for edit in edits)
