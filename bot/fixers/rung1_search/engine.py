"""SearchFixer: locate faults, search in the sandbox and rank the results."""

from collections.abc import AsyncIterator
from contextlib import aclosing

from bot.domain.diagnosis import Diagnosis
from bot.domain.mission import MissionContext
from bot.domain.patch import Candidate, FixBudget, Rung, RungNote
from bot.fixers.rung1_search.attempt import SearchResult
from bot.fixers.rung1_search.finding_reports import is_about_findings
from bot.fixers.rung1_search.findings import fix_findings
from bot.fixers.rung1_search.near_misses import near_misses, reported_suspects
from bot.fixers.rung1_search.partial import partial_candidate, partial_fixes
from bot.fixers.rung1_search.request import build_mission_request, hide_tests, hold_out_tests
from bot.fixers.rung1_search.requirements import missing_requirement
from bot.fixers.rung1_search.transferred import plan_transfers
from bot.ports import Recall, Workspace
from sandbox.types import SearchRequest, TestReport

SPARE_S = 1.0
"""Part of the time budget reserved for starting, reading and ranking, in seconds."""
LEAST_S = 1.0


class SearchFixer:
    """The search fixer (rung 1).

    Args:
        recall: Past results, for the order of templates.
    """

    def __init__(self, recall: Recall) -> None:
        self._recall = recall

    @property
    def name(self) -> str:
        """`search`."""
        return "search"

    @property
    def rung(self) -> Rung:
        """Return the second rung of the ladder."""
        return Rung.SEARCH

    def applies(self, report: TestReport) -> bool:
        """Return True if failing tests or linter findings are known by name."""
        return bool(report.failing) and bool(report.traits.searched_by)

    async def propose(
        self, context: MissionContext, diagnosis: Diagnosis, workspace: Workspace, budget: FixBudget
    ) -> AsyncIterator[Candidate | RungNote]:
        """Yield plausible fixes, best first; the workspace is left unchanged."""
        report = context.test_results
        if report is None or not self.applies(report):
            yield RungNote(
                reason="the search supports failing tests of pytest and unittest, and findings"
            )
            return
        if is_about_findings(report):
            async with aclosing(fix_findings(context, report, workspace, budget)) as mended:
                async for proposal in mended:
                    yield proposal
            return
        facts = await workspace.facts()
        request = _bound(
            await build_mission_request(self._recall, context, diagnosis, facts, report), budget
        )
        # Held-out tests detect fixes that overfit the visible tests.
        request = hide_tests(request, hold_out_tests(report, context.request.seed))
        transfers = await plan_transfers(self._recall, context, workspace, request)
        found, tried = await transfers.search(workspace, request)
        if not found.survivors:
            for fixes in partial_fixes(found.near, report.failing):
                if partial := partial_candidate(fixes, report.failing, found.done, found.originals):
                    yield partial
            yield await _nothing_found(found, context, report, workspace)
            return
        # Before the fixes: a caller may stop after the first one.
        candidates = [transfers.build_candidate(shown, found) for shown in found.shown]
        suspects, used = reported_suspects(found.started), transfers.recalled(candidates)
        if suspects or used:
            yield RungNote(
                reason="", candidates_tried=tried, suspects=suspects, recalled_lessons=used
            )
        for candidate in candidates:
            yield candidate


async def _nothing_found(
    found: SearchResult, context: MissionContext, report: TestReport, workspace: Workspace
) -> RungNote:
    """Return a note with the reason for no fix.

    If a missing dependency is the cause, the note asks whether to declare it.
    """
    missing = None
    if context.policy.dependencies != "never":
        missing = await missing_requirement(report, workspace)
    return RungNote(
        reason=f"{missing.sentence}; {found.why_none}" if missing else found.why_none,
        candidates_tried=found.done.tried,
        question=missing.sentence if missing and missing.placed else "",
        near=near_misses(found.near, report.failing, found.originals),
        suspects=reported_suspects(found.started),
    )


def _bound(request: SearchRequest, budget: FixBudget) -> SearchRequest:
    return request.with_(
        max_candidates=budget.max_candidates,
        max_survivors=budget.max_survivors,
        time_limit_s=max(LEAST_S, budget.time_limit_s - SPARE_S),
    )
