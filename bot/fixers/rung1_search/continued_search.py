"""Continue the search from a change that does not pass, applied to the tree meanwhile."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from bot.domain.diagnosis import Diagnosis
from bot.fixers.rung1_search.attempt import RankedFix, SearchResult, run_search
from bot.fixers.rung1_search.changes import edited_files, hash_edits
from bot.fixers.rung1_search.presentation import build_candidate
from bot.fixers.rung1_search.rank_features import WRITTEN
from bot.fixers.rung1_search.request import build_mission_request, is_searchable
from bot.fixers.rung1_search.trial_runs import (
    ResolvedChanges,
    RunComparison,
    resolve_changes,
    run_with_changes,
)
from bot.fixers.trials import UNCOMPARED, Failure, Proposed, Tried, best_first
from bot.ports import Recall
from sandbox.diffs import line_changes
from sandbox.types import (
    ChangeAction,
    FileChange,
    SearchNearMiss,
    SourceDiff,
    SpanEdit,
    TestReport,
    TestStatus,
    WorkspaceFacts,
)

LEAST_S, SPARE_S = 2.0, 1.0
MOST_NEAR = 3


async def search_onward(
    recall: Recall, failure: Failure, start: Proposed, *, time_limit_s: float, max_candidates: int
) -> tuple[Tried, ...]:
    """Return changes that extend the start; the tree is restored.

    Args:
        recall: Past results, for the order of templates.
        failure: The failure to fix.
        start: A change that does not pass yet.
        time_limit_s: Limit for the whole call, in seconds.
        max_candidates: Maximum number of edits tried on top of the start.
    """
    ends = time.monotonic() + time_limit_s
    before, workspace = failure.context.test_results, failure.workspace
    made = await resolve_changes(workspace, start.changes)
    if made.refused or before is None or not is_searchable(before):
        return ()
    try:
        seen = await run_with_changes(
            workspace, start.changes, before, time_limit_s=time_limit_s, put_back=False
        )
        left = ends - time.monotonic() - SPARE_S
        if seen is None or seen.passes or left < LEAST_S:
            return ()
        # The start has shifted the line numbers of its files.
        facts, diagnosis = update_suspects(await workspace.facts(), failure.diagnosis, made)
        request = await build_mission_request(
            recall, failure.context, diagnosis, facts, red_run(before, seen)
        )
        if not request.failing:
            return ()
        found = await run_search(
            workspace, request.with_(time_limit_s=left, max_candidates=max_candidates)
        )
    finally:
        await workspace.revert()
    onward = ContinuedSearch(start, made, seen, found)
    return tuple(onward.whole(shown) for shown in found.shown) or onward.nearer()


@dataclass(frozen=True)
class ContinuedSearch:
    """A start, and the search's results on top of it."""

    start: Proposed
    made: ResolvedChanges
    seen: RunComparison
    found: SearchResult

    def whole(self, shown: RankedFix) -> Tried:
        """Combine a survivor with the start; only a comparison as one change can rank it."""
        survivor = shown.ranked.survivor
        proposed = self._on_top(survivor.edits, survivor.description, shown.changes)
        candidate = build_candidate(shown, self.found)
        candidate = candidate.with_(
            id=proposed.id,
            rung=proposed.rung,
            fixer=proposed.fixer,
            title=proposed.title[:120],
            explanation=f"{proposed.explanation} Then: {candidate.explanation}".strip(),
            changes=proposed.changes,
            # The search ranked its own edit only, on a tree that had the start already.
            score=candidate.score * UNCOMPARED,
            confident=False,
            ranked=False,
            inputs=0,
        )
        mended = tuple(sorted({*self.seen.mended, *self.seen.still_failing}))
        return Tried(
            proposed=proposed,
            passes=True,
            mended=mended,
            score=candidate.score,
            candidate=candidate,
        )

    def nearer(self) -> tuple[Tried, ...]:
        """Return changes that fix more tests than the start, but not all."""
        near = (self._near(miss) for miss in self.found.near)
        return best_first([tried for tried in near if tried is not None])[:MOST_NEAR]

    def _near(self, miss: SearchNearMiss) -> Tried | None:
        seen, more = self.seen, set(miss.fixed)
        changes = edited_files(miss.edits, self.found.originals)
        if changes is None or more.isdisjoint({*seen.still_failing, *seen.broke}):
            return None
        return Tried(
            proposed=self._on_top(miss.edits, miss.description or miss.template, changes),
            passes=False,
            mended=tuple(sorted({*seen.mended, *(more & set(seen.still_failing))})),
            still_failing=tuple(name for name in seen.still_failing if name not in more),
            broke=tuple(name for name in seen.broke if name not in more),
        )

    def _on_top(
        self, edits: Sequence[SpanEdit], description: str, changes: Sequence[FileChange]
    ) -> Proposed:
        start = self.start
        return start.with_(
            id=f"{start.id}+{hash_edits(edits)}",
            title=f"{start.title}; then {description}",
            changes=combine_changes(self.made, changes),
            changed_lines=start.changed_lines + len(edits),
            fixer=f"{start.fixer}+search",
            # All changes that complete one start are one answer, however many agree.
            template=f"{WRITTEN} {start.id}",
        )


def red_run(before: TestReport, seen: RunComparison) -> TestReport:
    """Return the red run as the start leaves it.

    It keeps tests known before, and those in files that could not be collected before.

    Args:
        before: The red run without the start.
        seen: Results of runs with the start.
    """
    now = seen.report
    # A file that could not be collected is listed without `::`.
    uncollected = {name for name in before.failing if "::" not in name}
    files = {name.split("::", maxsplit=1)[0] for name in before.outcomes}
    known = before.failing | before.passing

    def counts(name: str) -> bool:
        return (
            name in known
            or name.split("::", maxsplit=1)[0] in uncollected
            or ("::" not in name and name in files)
        )

    outcomes = {name: status for name, status in now.outcomes.items() if counts(name)}
    if not seen.whole:  # the other tests were not run: assume unchanged results
        outcomes = {**dict.fromkeys(before.passing, TestStatus.PASS), **outcomes}
    return now.with_(
        outcomes=outcomes, failures=tuple(f for f in now.failures if f.name in outcomes)
    )


def update_suspects(
    facts: WorkspaceFacts, diagnosis: Diagnosis, made: ResolvedChanges
) -> tuple[WorkspaceFacts, Diagnosis]:
    """Drop line numbers in files the start edited, and record its own lines as changed.

    Args:
        facts: Workspace facts, with the red diff.
        diagnosis: Diagnosis with suspects.
        made: The applied start.
    """
    originals = dict(made.originals)
    new = {edit.path: _new_lines(originals.get(edit.path), edit.content) for edit in made.edits}
    red = facts.red_diff
    files = {path: lines for path, lines in red.files.items() if path not in new}
    hunks = tuple(hunk for hunk in red.hunks if hunk.path not in new)
    suspects = tuple(suspect for suspect in diagnosis.suspects if suspect.file not in new)
    return facts.with_(red_diff=SourceDiff(files={**files, **new}, hunks=hunks)), diagnosis.with_(
        suspects=suspects
    )


def _new_lines(old: bytes | None, new: bytes) -> tuple[int, ...]:
    before, after = (text.decode("utf-8", "replace").splitlines() for text in (old or b"", new))
    spans = [(low + 1, max(high, low + 1)) for *_, low, high in line_changes(before, after)]
    return tuple(line for first, last in spans for line in range(first, last + 1))


def combine_changes(made: ResolvedChanges, then: Sequence[FileChange]) -> tuple[FileChange, ...]:
    """Combine edits and whole-file replacements on top of them into changes of the original tree.

    Args:
        made: The first edits.
        then: The replacements.
    """
    new = {
        edit.path: None if edit.mode == "deleted" else edit.content.decode() for edit in made.edits
    }
    new.update({change.path: change.content for change in then})
    there = {path: content is not None for path, content in made.originals}
    return tuple(
        _change(path, content, there=there.get(path, True)) for path, content in new.items()
    )


def _change(path: str, content: str | None, *, there: bool) -> FileChange:
    if content is None:
        return FileChange(action=ChangeAction.DELETE, path=path)
    return FileChange(
        action=ChangeAction.REPLACE if there else ChangeAction.CREATE, path=path, content=content
    )
