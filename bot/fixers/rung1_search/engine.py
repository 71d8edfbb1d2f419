"""SearchFixer: locate, order, search in the sandbox, rank; best first."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field

from bot.domain.diagnosis import Diagnosis
from bot.domain.mission import MissionContext
from bot.domain.patch import Candidate, FixBudget, Rival, Rung, RungNote
from bot.fixers.rung1_search.changes import changes_of, identity_of
from bot.fixers.rung1_search.locate import suspect_lines
from bot.fixers.rung1_search.order import template_costs
from bot.fixers.rung1_search.partial import partial_candidate, partial_fixes
from bot.fixers.rung1_search.rank import Ranked, rank_survivors
from bot.ports import Recall, Workspace
from sandbox.types import Compared, FileChange, NearMiss, SearchRequest, SpanEdit, Survivor, TestReport, TrialDone

PROTECTED = (
    "test_*.py",
    "*/test_*.py",
    "*_test.py",
    "tests/*",
    "*/tests/*",
    "test/*",
    "*/test/*",
    "conftest.py",
    "*/conftest.py",
    "setup.py",
    "noxfile.py",
)
"""Never edited by a search: what judges the fix, and what configures the judge."""
SPARE_S = 1.0
"""Kept of the budget for starting, reading and ranking."""
LEAST_S = 1.0


@dataclass
class _Heard:
    """What a search told."""

    survivors: list[Survivor] = field(default_factory=list)
    near: list[NearMiss] = field(default_factory=list)
    compared: Compared | None = None
    done: TrialDone = field(default_factory=lambda: TrialDone(reason="refused", detail="the search said nothing"))

    @property
    def edits(self) -> list[SpanEdit]:
        """Everything anybody may want to change."""
        whole = [edit for survivor in self.survivors for edit in survivor.edits]
        return whole or [edit for miss in self.near for edit in miss.edits]


async def _listen(workspace: Workspace, request: SearchRequest) -> _Heard:
    heard = _Heard()
    async for event in workspace.search(request):
        match event:
            case Survivor():
                heard.survivors.append(event)
            case NearMiss():
                heard.near.append(event)
            case Compared():
                heard.compared = event
            case TrialDone():
                heard.done = event
            case _:
                pass
    return heard


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
        if report is None or report.runner != "pytest" or not report.failing:
            yield RungNote(reason="only failing pytest tests can be searched for")
            return
        request = _bounded(await self._request(context, diagnosis, workspace, report), budget)
        heard = await _listen(workspace, request)
        originals = await _originals(workspace, heard.edits)
        if not heard.survivors:
            for fixes in partial_fixes(heard.near, report.failing):
                if partial := partial_candidate(fixes, report.failing, heard.done, originals):
                    yield partial
            yield RungNote(reason=_why_none(heard.done), candidates_tried=heard.done.tried)
            return
        for ranked in rank_survivors(heard.survivors, originals):
            if changes := changes_of(ranked.survivor.edits, originals):
                yield _candidate(ranked, heard, changes)

    async def _request(
        self, context: MissionContext, diagnosis: Diagnosis, workspace: Workspace, report: TestReport
    ) -> SearchRequest:
        facts = await workspace.facts()
        error = next((failure.error for failure in report.failures if failure.error), None)
        record = await self._recall.template_record(repository_id=context.request.memory_key, error=error)
        return SearchRequest(
            command=facts.recipe.command,
            failing=tuple(sorted(report.failing)),
            passing=tuple(sorted(report.passing)),
            suspects=suspect_lines(diagnosis, report.failures, facts.red_diff),
            template_costs=template_costs(record),
            protected=PROTECTED,
            seed=context.request.seed,
        )


async def _originals(workspace: Workspace, edits: Sequence[SpanEdit]) -> dict[str, str]:
    """The files the edits are about, as they are; the sandbox's word for them is not taken."""
    return {path: await workspace.read_file(path) or "" for path in sorted({edit.path for edit in edits})}


def _bounded(request: SearchRequest, budget: FixBudget) -> SearchRequest:
    return request.with_(
        max_candidates=budget.max_candidates,
        max_survivors=budget.max_survivors,
        time_limit_s=max(LEAST_S, budget.time_limit_s - SPARE_S),
    )


def _why_none(done: TrialDone) -> str:
    words = {
        "exhausted": "no single edit of the suspect functions makes the tests pass",
        "time": "no edit found within the time limit",
        "candidates": "no edit found within the limit of candidates",
        "enough": "the search ended early",
        "refused": "the search could not start",
    }
    return f"{words[done.reason]}: {done.detail}" if done.detail else words[done.reason]


def _candidate(ranked: Ranked, heard: _Heard, changes: tuple[FileChange, ...]) -> Candidate:
    survivors, done = heard.survivors, heard.done
    survivor = ranked.survivor
    return Candidate(
        id=identity_of(survivor.edits),
        rung=Rung.SEARCH,
        fixer="search",
        template=survivor.template,
        title=f"{survivor.path}: {survivor.description}"[:120],
        explanation=_explanation(ranked, len(survivors), max(done.tried, survivor.tried)),
        changes=changes,
        candidates_tried=max(done.tried, survivor.tried),
        plausible=len(survivors),
        behaviours=ranked.behaviours,
        rivals=tuple(
            Rival(template=r.template, path=r.path, line=r.line, description=r.description) for r in ranked.rivals
        ),
        warnings=survivor.warnings,
        score=ranked.score,
        seconds=done.seconds,
    )


def _explanation(ranked: Ranked, plausible: int, tried: int) -> str:
    survivor = ranked.survivor
    told = f"{survivor.description} at {survivor.path}:{survivor.line} ({survivor.template})."
    told += f" {tried} candidates tried, {plausible} made every known test pass"
    told += f", in {ranked.behaviours} different behaviours." if ranked.behaviours > 1 else ", all behaving alike."
    if ranked.rivals:
        rival = ranked.rivals[0]
        told += f" The tests do not tell it from: {rival.description} at {rival.path}:{rival.line}."
    return told
