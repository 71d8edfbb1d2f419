"""Fix findings of linters and type checkers: keep each proposed edit that reduces them."""

import json
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from bot.domain.counted import counted
from bot.domain.mission import MissionContext
from bot.domain.patch import Candidate, FixBudget, Rung, RungNote
from bot.fixers.rung1_search.changes import edited_files, hash_edits, read_text
from bot.fixers.rung1_search.finding_reports import (
    REPORTED,
    detailed_findings,
    is_about_findings,
    is_better,
)
from bot.ports import Workspace
from sandbox.languages import JAVASCRIPT, TYPESCRIPT, is_test_file
from sandbox.types import (
    ChangeAction,
    EditDoubt,
    EditProposal,
    FileChange,
    ProposalRequest,
    RunVerdict,
    SpanEdit,
    TestReport,
    ToolFinding,
    apply_spans,
    group_by_file,
)

PER_FINDING = 14
"""Maximum number of edits tried for one finding."""
PROPOSALS_S = 60.0
"""Maximum time for the proposals of one round, in seconds."""
MAX_RUNS = 150
GUESS_COST = 0.7
"""From this cost on, an edit of TypeScript is a guess. Of the first 89 seeded errors of
`benchmarks.typescript`, five edits cost that much, and one of these was the original text."""
DOUBTS = {
    EditDoubt.ALTERNATIVES: "the linter offers several edits, of which this is one",
    EditDoubt.COMMENT: "an edit only changes a comment",
    EditDoubt.REMOVAL: "removed code may have had an effect",
    EditDoubt.UNSURE: "the linter says that its edit may be wrong",
}
SPARE_S = 2.0
TEST_COMMAND = "python -m pytest -q"
"""Used if no test command is configured and there are files that look like tests."""
NODE_RUNNERS = frozenset({"vitest", "jest", "mocha"})


class _Trial(NamedTuple):
    """Edits, and the check's report with them."""

    chosen: Sequence[EditProposal]
    changes: tuple[FileChange, ...]
    after: TestReport


@dataclass
class _RepairState:
    """State of one repair: file texts, accepted edits and spending."""

    workspace: Workspace
    report: TestReport
    until: float
    findings: tuple[ToolFinding, ...] = ()
    """Findings of the current round, to which proposals refer by number."""
    originals: dict[str, str] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    accepted: list[EditProposal] = field(default_factory=list)
    runs: int = 0
    doubted: _Trial | None = None
    """The first edits on the present texts that reach a later step whose tests are red."""

    @property
    def may_go_on(self) -> bool:
        return self.runs < MAX_RUNS and time.monotonic() < self.until


async def fix_findings(
    context: MissionContext, report: TestReport, workspace: Workspace, budget: FixBudget
) -> AsyncGenerator[Candidate | RungNote, None]:
    """Yield at most one candidate: all edits that together reduce the findings.

    Args:
        context: Known facts; its policy may name the test command.
        report: The failing check.
        workspace: On the failing tree; left unchanged.
        budget: Time and candidates.
    """
    started = time.monotonic()
    work = _RepairState(workspace, report, started + budget.time_limit_s - SPARE_S)
    try:
        if not detailed_findings(report):
            yield RungNote(reason="the check names no file that a fix may touch")
            return
        await _repair_all(work, min(budget.max_candidates, MAX_RUNS))
        if not work.texts:
            reason = (
                f"none of {counted(work.runs, 'edit')} reduced the findings"
                if work.runs
                else "no edit is known for these findings"
            )
            yield RungNote(reason=reason, candidates_tried=work.runs)
            return
        if all(text == work.originals[path] for path, text in work.texts.items()):
            yield RungNote(reason="the edits undo each other", candidates_tried=work.runs)
            return
        doubts = await _run_tests_for_doubts(context, work)
    finally:
        await workspace.revert()
    if doubts is None:
        yield RungNote(
            reason="the edits that satisfy the check break tests", candidates_tried=work.runs
        )
    else:
        yield _candidate(work, report, doubts, seconds=time.monotonic() - started)


async def _repair_all(work: _RepairState, most: int) -> None:
    """Repeat steps while the number of findings decreases."""
    tried: set[tuple[str, ...]] = set()
    while work.may_go_on and work.runs < most and is_about_findings(work.report):
        work.findings = detailed_findings(work.report)
        offered = await _propose(work, only_clear=True)
        is_done = await _step(work, offered, tried, most)
        if not is_done and any(proposal.is_clear for row in offered for proposal in row):
            # Trying all others takes as long again, and a clear edit hardly ever fails.
            is_done = await _step(work, await _propose(work), tried, most)
        if not is_done and not await _settle(work):
            return


async def _propose(work: _RepairState, *, only_clear: bool = False) -> list[list[EditProposal]]:
    """Return the proposals for each finding that has any, the cheapest first."""
    request = ProposalRequest(
        findings=work.findings,
        command=work.report.target,
        step=work.report.steps,
        most=PER_FINDING,
        only_clear=only_clear,
        time_limit_s=min(PROPOSALS_S, _left(work)),
    )
    offered: dict[int, list[EditProposal]] = {}
    for proposal in await work.workspace.proposals(request):
        offered.setdefault(proposal.finding, []).append(proposal)
    return list(offered.values())


async def _step(
    work: _RepairState,
    offered: list[list[EditProposal]],
    tried: set[tuple[str, ...]],
    most: int,
) -> bool:
    """Try the best edit of all findings together; if that fails, try edits one at a time."""
    # Runs of the check are slow, so all first choices share one run.
    together = _disjoint([proposals[0] for proposals in offered])
    rounds = [together] if len(together) > 1 else []
    deepest = max((len(proposals) for proposals in offered), default=0)
    rounds += [
        [proposals[depth]]
        for depth in range(deepest)
        for proposals in offered
        if depth < len(proposals)
    ]
    for chosen in rounds:
        if not work.may_go_on or work.runs >= most:
            break
        edits = tuple(edit for proposal in chosen for edit in proposal.edits)
        key = tuple(sorted(f"{e.path}:{_edit_key(work, e)}" for e in edits))
        if key in tried:
            continue
        tried.add(key)
        if await _try(work, chosen, edits):
            return True
    return False


async def _settle(work: _RepairState) -> bool:
    """Keep the first edits that leave tests red, if there are any."""
    if work.doubted is None:
        return False
    await work.workspace.apply_changes(work.doubted.changes)
    _keep(work, work.doubted)
    return True


def _disjoint(proposals: Sequence[EditProposal]) -> list[EditProposal]:
    """Return proposals that touch disjoint lines."""
    kept: list[EditProposal] = []
    taken: list[SpanEdit] = []
    for proposal in proposals:
        spans = [_span(edits) for edits in group_by_file(proposal.edits).values()]
        if not any(_overlap(span, other) for span in spans for other in taken):
            kept.append(proposal)
            taken += spans
    return kept


def _span(edits: Sequence[SpanEdit]) -> SpanEdit:
    """Return the span of a file that some edits of it touch."""
    first, last = min(edit.start for edit in edits), max(edit.end for edit in edits)
    return SpanEdit(path=edits[0].path, start=first, end=last, text="")


def _overlap(one: SpanEdit, other: SpanEdit) -> bool:
    return one.path == other.path and one.start <= other.end and other.start <= one.end


def _edit_key(work: _RepairState, edit: SpanEdit) -> str:
    """Return a key for an edit that includes its surrounding text, as offsets may shift."""
    data = work.texts.get(edit.path, "").encode()
    return f"{data[max(0, edit.start - 40) : edit.end + 40]!r}{len(data)}{edit.start}{edit.text}"


async def _try(
    work: _RepairState,
    chosen: Sequence[EditProposal],
    edits: Sequence[SpanEdit],
) -> bool:
    """Apply edits, run the check and keep those that repair something, if it finds less.

    An edit that leaves the tests of a later step red waits until none is better, or until another
    one leaves the same tests red.
    """
    paths = dict.fromkeys(edit.path for edit in edits)
    for path in paths:
        if path not in work.originals:
            work.originals[path] = await work.workspace.read_file(path) or ""
    now = {path: work.texts.get(path, work.originals[path]) for path in paths}
    changes = edited_files(edits, now)
    if changes is None:
        return False
    await work.workspace.apply_changes(changes)
    work.runs += 1
    after = await work.workspace.run_tests()
    # Restore texts instead of reverting: accepted edits must stay.
    if not is_better(work.report, after):
        await work.workspace.apply_changes(_whole(now))
        return False
    trial = _Trial(chosen, changes, after)
    is_red = after.steps > work.report.steps and after.verdict is RunVerdict.FAIL
    if is_red and after.knows_tests:
        await work.workspace.apply_changes(_whole(now))
        if work.doubted is not None and work.doubted.after.failing == after.failing:
            return await _settle(work)
        work.doubted = work.doubted or trial
        return False
    useful = _useful(chosen, work.findings, after)
    if 0 < len(useful) < len(chosen) and work.may_go_on:
        await work.workspace.apply_changes(_whole(now))
        left = tuple(edit for proposal in useful for edit in proposal.edits)
        if await _try(work, useful, left):
            return True
        await work.workspace.apply_changes(changes)
    _keep(work, trial)
    return True


def _keep(work: _RepairState, trial: _Trial) -> None:
    """Continue from applied edits."""
    work.report, work.doubted = trial.after, None
    work.texts |= {change.path: change.content or "" for change in trial.changes}
    work.accepted += trial.chosen


def _useful(
    chosen: Sequence[EditProposal], findings: Sequence[ToolFinding], after: TestReport
) -> tuple[EditProposal, ...]:
    """Return the proposals whose finding is gone; the others came along and repaired nothing."""

    def count(rows: Sequence[ToolFinding], one: ToolFinding) -> int:
        return sum((r.path, r.code, r.message) == (one.path, one.code, one.message) for r in rows)

    if len(after.failing) > len(after.failures):
        return tuple(chosen)  # The report does not show every finding.
    left = detailed_findings(after)
    return tuple(
        proposal
        for proposal in chosen
        if count(left, findings[proposal.finding]) < count(findings, findings[proposal.finding])
    )


def _whole(texts: Mapping[str, str]) -> tuple[FileChange, ...]:
    return tuple(
        FileChange(action=ChangeAction.REPLACE, path=path, content=text)
        for path, text in texts.items()
    )


async def _run_tests_for_doubts(
    context: MissionContext, work: _RepairState
) -> tuple[str, ...] | None:
    """Run the tests, if any.

    Return doubts about the edits, or None if the edits break a test.
    """
    if work.report.verdict is RunVerdict.PASS and work.report.knows_tests:
        return ()  # A later step of the check ran them.
    command = context.policy.test_command or await _find_test_command(work)
    if command is None or _left(work) <= 0:
        return ("no tests were run: only the check validated this",)
    after = await work.workspace.run_tests(command)
    if after.verdict is RunVerdict.PASS and after.knows_tests:
        return ()
    if after.verdict is not RunVerdict.FAIL or not after.knows_tests:
        return ("the tests could not be run: only the check validated this",)
    # The same tests may fail without the edits, too.
    await work.workspace.revert()
    before = await work.workspace.run_tests(command)
    if before.verdict in REPORTED and after.failing <= before.failing:
        return (f"red with and without the edits: {counted(len(after.failing), 'test')}",)
    return None


async def _find_test_command(work: _RepairState) -> str | None:
    """Return the usual command for the tests of the repaired language; None without tests."""
    if any(path.endswith((*JAVASCRIPT.suffixes, *TYPESCRIPT.suffixes)) for path in work.texts):
        try:
            manifest = json.loads(await read_text(work.workspace, "package.json"))
            script = str(manifest["scripts"]["test"])
        except (ValueError, KeyError, TypeError, RecursionError):
            return None
        # Only a runner that is called directly reports its tests by name.
        words = script.split()
        if words[:2] == ["node", "--test"]:
            return script
        return f"npx {script}" if words and words[0] in NODE_RUNNERS else "npm test"
    files = await work.workspace.list_files()
    return TEST_COMMAND if any(is_test_file(path) for path in files) else None


def _doubt(proposal: EditProposal) -> str:
    """Return why a person has to confirm an edit; empty if the check and the tests suffice."""
    if proposal.doubt is not None:
        return DOUBTS[proposal.doubt]
    is_typed = proposal.edits[0].path.endswith(TYPESCRIPT.suffixes)
    return "it adds or removes code by a guess" if is_typed and proposal.cost >= GUESS_COST else ""


def _left(work: _RepairState) -> float:
    return max(0.5, work.until - time.monotonic())


def _candidate(
    work: _RepairState, before: TestReport, doubts: tuple[str, ...], *, seconds: float
) -> Candidate:
    changed = {path: text for path, text in work.texts.items() if text != work.originals[path]}
    edits = tuple(
        SpanEdit(path=path, start=0, end=len(work.originals[path].encode()), text=text)
        for path, text in sorted(changed.items())
    )
    # A later step has failures of its own.
    left = len(work.report.failing) if work.report.steps == before.steps else 0
    gone = len(before.failing) - left
    result = (
        f"fixes {gone} of {counted(len(before.failing), 'finding')}"
        if left
        else f"fixes {counted(gone, 'finding')}, and none is left"
    )
    shown = "; ".join(dict.fromkeys(proposal.description for proposal in work.accepted))
    templates = list(dict.fromkeys(proposal.template for proposal in work.accepted))
    guesses = tuple(dict.fromkeys(filter(None, map(_doubt, work.accepted))))
    cost = sum(proposal.cost for proposal in work.accepted) / max(1, len(work.accepted))
    return Candidate(
        id=hash_edits(edits),
        rung=Rung.SEARCH,
        fixer="search",
        template="+".join(templates[:5]),
        title=f"{min(changed)}: {shown}"[:120],
        explanation=f"{shown[:1500]}. It {result}; "
        f"the same check was run after every edit ({counted(work.runs, 'time')}).",
        changes=tuple(
            FileChange(
                action=ChangeAction.REPLACE,
                path=path,
                content=apply_spans(work.originals[path], [edit]),
            )
            for path, edit in zip(sorted(changed), edits, strict=True)
        ),
        candidates_tried=work.runs,
        warnings=(*((result,) if left else ()), *guesses, *doubts),
        # Besides the check's exit status, the repository's own tests have to agree.
        confident=not (left or guesses or doubts),
        score=round(max(0.3, 0.9 - 0.3 * cost) * (0.6 if left else 1.0), 4),
        seconds=round(seconds, 3),
    )
