"""SearchFixer: locate, order, search in the sandbox, rank; best first."""

from collections.abc import AsyncIterator
from contextlib import aclosing

from bot.domain.diagnosis import Diagnosis
from bot.domain.mission import MissionContext
from bot.domain.patch import Candidate, FixBudget, Rung, RungNote
from bot.fixers.rung1_search.attempt import Attempt, Shown, attempt
from bot.fixers.rung1_search.changes import identity_of
from bot.fixers.rung1_search.findings import is_about_findings, mend_findings
from bot.fixers.rung1_search.partial import partial_candidate, partial_fixes
from bot.fixers.rung1_search.rank import Ranked
from bot.fixers.rung1_search.rank_shown import compared_words, mutants_of, rivals_of
from bot.fixers.rung1_search.request import request_for
from bot.fixers.rung1_search.requirements import missing_requirement
from bot.ports import Recall, Workspace
from sandbox.types import SearchRequest, TestReport

SPARE_S = 1.0
"""Kept of the budget for starting, reading and ranking."""
LEAST_S = 1.0


class SearchFixer:
    """Rung 1.

    Args:
        recall: What worked before, for the order of templates.
    """

    def __init__(self, recall: Recall) -> None:
        self._recall = recall

    @property
    def name(self) -> str:
        """`search`."""
        return "search"

    @property
    def rung(self) -> Rung:
        """The second step of the ladder."""
        return Rung.SEARCH

    async def propose(
        self, context: MissionContext, diagnosis: Diagnosis, workspace: Workspace, budget: FixBudget
    ) -> AsyncIterator[Candidate | RungNote]:
        """Plausible fixes, best first; the workspace stays as it is."""
        report = context.test_results
        if report is not None and is_about_findings(report):
            async with aclosing(mend_findings(context, report, workspace, budget)) as mended:
                async for proposal in mended:
                    yield proposal
            return
        if report is None or report.runner not in {"pytest", "unittest"} or not report.failing:
            yield RungNote(reason="only failing tests of pytest and unittest can be searched for")
            return
        request = _bounded(await self._request(context, diagnosis, workspace, report), budget)
        found = await attempt(workspace, request)
        if not found.survivors:
            for fixes in partial_fixes(found.near, report.failing):
                if partial := partial_candidate(fixes, report.failing, found.done, found.originals):
                    yield partial
            yield await _nothing_found(found, context, report, workspace)
            return
        for shown in found.shown:
            yield _candidate(shown, found)

    async def _request(
        self, context: MissionContext, diagnosis: Diagnosis, workspace: Workspace, report: TestReport
    ) -> SearchRequest:
        facts = await workspace.facts()
        error = next((failure.error for failure in report.failures if failure.error), None)
        record = await self._recall.template_record(repository_id=context.request.memory_key, error=error)
        return request_for(facts, report, diagnosis, record=record, seed=context.request.seed)


async def _nothing_found(found: Attempt, context: MissionContext, report: TestReport, workspace: Workspace) -> RungNote:
    """Why there is no fix; where a declared dependency would be one, the question whether to declare it."""
    missing = None
    if context.policy.dependencies == "ask":
        missing = await missing_requirement(report, workspace)
    return RungNote(
        reason=f"{missing.sentence}; {found.why_none}" if missing else found.why_none,
        candidates_tried=found.done.tried,
        question=missing.sentence if missing and missing.placed else "",
    )


def _bounded(request: SearchRequest, budget: FixBudget) -> SearchRequest:
    return request.with_(
        max_candidates=budget.max_candidates,
        max_survivors=budget.max_survivors,
        time_limit_s=max(LEAST_S, budget.time_limit_s - SPARE_S),
    )


def _candidate(shown: Shown, found: Attempt) -> Candidate:
    ranked, survivor = shown.ranked, shown.ranked.survivor
    return Candidate(
        id=identity_of(survivor.edits),
        rung=Rung.SEARCH,
        fixer="search",
        template=survivor.template,
        title=f"{survivor.path}: {survivor.description}"[:120],
        explanation=_explanation(ranked, len(found.survivors), found.tried),
        changes=shown.changes,
        candidates_tried=found.tried,
        plausible=len(found.survivors),
        behaviours=ranked.behaviours,
        rivals=rivals_of(ranked),
        warnings=survivor.warnings,
        score=ranked.score,
        confident=ranked.confident,
        inputs=ranked.inputs,
        mutants=mutants_of(ranked),
        seconds=found.done.seconds,
    )


def _explanation(ranked: Ranked, plausible: int, tried: int) -> str:
    survivor = ranked.survivor
    told = f"{survivor.description} at {survivor.path}:{survivor.line} ({survivor.template})."
    told += f" {tried} candidates tried, {plausible} made every known test pass"
    told += f", in {ranked.behaviours} different behaviours." if ranked.behaviours > 1 else ", all behaving alike."
    if ranked.rivals:
        rival = ranked.rivals[0]
        told += f" The tests do not tell it from: {rival.description} at {rival.path}:{rival.line}."
    return told + compared_words(ranked)
