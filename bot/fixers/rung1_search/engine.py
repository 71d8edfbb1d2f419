"""SearchFixer: locate, order, search in the sandbox, rank; best first."""

from collections.abc import AsyncIterator
from contextlib import aclosing

from bot.domain.diagnosis import Diagnosis
from bot.domain.mission import MissionContext
from bot.domain.patch import Candidate, FixBudget, Rung, RungNote
from bot.fixers.rung1_search.attempt import Attempt, attempt
from bot.fixers.rung1_search.findings import is_about_findings, mend_findings
from bot.fixers.rung1_search.near import near_misses, suspects_of
from bot.fixers.rung1_search.partial import partial_candidate, partial_fixes
from bot.fixers.rung1_search.rank_shown import candidate_of
from bot.fixers.rung1_search.request import held_out_of, holding_out, request_of
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

    def applies(self, report: TestReport) -> bool:
        """Return whether failing tests, or findings of a linter or type checker, are known by name."""
        return bool(report.failing) and (report.knows_tests or is_about_findings(report))

    async def propose(
        self, context: MissionContext, diagnosis: Diagnosis, workspace: Workspace, budget: FixBudget
    ) -> AsyncIterator[Candidate | RungNote]:
        """Plausible fixes, best first; the workspace stays as it is."""
        report = context.test_results
        if report is None or not self.applies(report):
            yield RungNote(reason="only failing tests of pytest and unittest, and findings, can be searched for")
            return
        if is_about_findings(report):
            async with aclosing(mend_findings(context, report, workspace, budget)) as mended:
                async for proposal in mended:
                    yield proposal
            return
        facts = await workspace.facts()
        request = _bounded(await request_of(self._recall, context, diagnosis, facts, report), budget)
        request = holding_out(request, held_out_of(report, context.request.seed))
        found = await attempt(workspace, request)
        if not found.survivors:
            for fixes in partial_fixes(found.near, report.failing):
                if partial := partial_candidate(fixes, report.failing, found.done, found.originals):
                    yield partial
            yield await _nothing_found(found, context, report, workspace)
            return
        if suspects := suspects_of(found.started):
            yield RungNote(reason="", candidates_tried=found.tried, suspects=suspects)
        for shown in found.shown:
            yield candidate_of(shown, found)


async def _nothing_found(found: Attempt, context: MissionContext, report: TestReport, workspace: Workspace) -> RungNote:
    """Why there is no fix; where a declared dependency would be one, the question whether to declare it."""
    missing = None
    if context.policy.dependencies == "ask":
        missing = await missing_requirement(report, workspace)
    return RungNote(
        reason=f"{missing.sentence}; {found.why_none}" if missing else found.why_none,
        candidates_tried=found.done.tried,
        question=missing.sentence if missing and missing.placed else "",
        near=near_misses(found.near, report.failing, found.originals),
        suspects=suspects_of(found.started),
    )


def _bounded(request: SearchRequest, budget: FixBudget) -> SearchRequest:
    return request.with_(
        max_candidates=budget.max_candidates,
        max_survivors=budget.max_survivors,
        time_limit_s=max(LEAST_S, budget.time_limit_s - SPARE_S),
    )
