"""Run a coding agent in its own sandbox; its edits become a candidate like any other."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import NamedTuple

from bot.domain.counted import counted
from bot.domain.diagnosis import Diagnosis
from bot.domain.mission import MissionContext
from bot.domain.model import Passage, Question, Role, total
from bot.domain.patch import Candidate, FixBudget, Rung, RungNote
from bot.fixers.rung2_model import related_context
from bot.fixers.rung2_model.budget import PromptSpace
from bot.fixers.rung2_model.candidates import base_candidate
from bot.fixers.rung2_model.doubted import doubted_changes
from bot.fixers.rung2_model.edits import EditRules, describe_rejections
from bot.fixers.rung2_model.edits.gates import check_edits
from bot.fixers.rung2_model.failing import failing_passages
from bot.fixers.rung2_model.fixer import Allows, allow_everything
from bot.fixers.rung2_model.sources import Files
from bot.fixers.trials import Failure, Proposed, Trials, Tried, rank_again
from bot.ports import AgentDoor, AgentDoors, Workspace
from sandbox.changes import Concern, is_protected
from sandbox.errors import ChangeRejected, HostGone, SandboxUnavailable
from sandbox.types import ChangeAction, FileChange, FileEdit, Returned, TestReport

_WORK_SHARE = 0.75
"""Share of the remaining time for the agent; the rest is for the trial."""
_TRIAL_S = 60.0
_FAILING_CHARACTERS = 6_000
_DOUBTED_CHARACTERS = 4_000
_DIFF_CHARACTERS = 4_000
_ATTEMPT_CHARACTERS = 3_000
_KNOWN_CHARACTERS = 4_000
"""Limit of a person's words, the analysis and the lessons, in characters."""
_SUSPECTS = 10
_WORDS = 300


class AgentWorker:
    """The rung-2 fixer if the operator configured a coding agent.

    Args:
        doors: Access to the model for each agent.
        trials: Tries the agent's change if tests can be run one at a time.
        allows: Decides whether the repository's policy permits edits of these files.
    """

    def __init__(
        self, doors: AgentDoors, trials: Trials, allows: Allows = allow_everything
    ) -> None:
        self._doors = doors
        self._trials = trials
        self._allows = allows

    @property
    def name(self) -> str:
        """`agent`."""
        return "agent"

    @property
    def rung(self) -> Rung:
        """Return the third rung of the ladder."""
        return Rung.MODEL

    def applies(self, report: TestReport) -> bool:
        """Return True if the run failed, unless only a tool can repair what its runner reports."""
        return not (report.success or report.traits.only_tools)

    async def propose(
        self, context: MissionContext, diagnosis: Diagnosis, workspace: Workspace, budget: FixBudget
    ) -> AsyncIterator[Candidate | RungNote]:
        """Yield the cost as a note, then at most one candidate."""
        door = self._doors.of(context.request, context.policy)
        report = context.test_results
        if door is None or report is None or not self.applies(report):
            yield RungNote(
                reason="there is no red run to fix" if door else "the policy allows it no spending"
            )
            return
        failure = Failure(context=context, diagnosis=diagnosis, workspace=workspace)
        try:
            returned = await self._send(door, failure, report, budget)
            allowed = [edit for edit in returned.edits if self._allows(context.policy, [edit.path])]
            can_try = report.knows_tests and bool(report.failing)
            work = await _evaluate(returned, allowed, workspace, can_try=can_try)
            results = await self._try(work, failure, budget) if work.can_try else ()
        except HostGone:
            raise  # the mission waits until the host returns
        except (SandboxUnavailable, ChangeRejected) as error:
            await workspace.revert()
            yield _note(door, error.message)
            return
        own = work.proposed.id if work.proposed is not None else None
        tried = next((one for one in results if one.proposed.id == own), None)
        note = _note(door, work.why or _why(tried), tried=int(work.proposed is not None))
        yield note.with_(compared=_compared(context.doubted, results))
        candidate = _candidate(work, tried, door)
        if candidate is not None:
            yield candidate

    async def _send(
        self, door: AgentDoor, failure: Failure, report: TestReport, budget: FixBudget
    ) -> Returned:
        suspects = "\n".join(
            f"{one.file}:{one.line} {one.reason}" for one in failure.diagnosis.suspects[:_SUSPECTS]
        )
        context = failure.context
        files, facts = Files(failure.workspace), await failure.workspace.facts()
        diff, _ = await related_context.red_diff(
            facts,
            [one.file for one in failure.diagnosis.suspects],
            files,
            PromptSpace(_DIFF_CHARACTERS),
        )
        known = PromptSpace(_KNOWN_CHARACTERS)
        question = Question(
            stage="agent",
            prompt="agent",
            role=Role.FIX,
            gaps={
                "command": Passage(label="the command", text=report.target),
                "failing": failing_passages(context, report, PromptSpace(_FAILING_CHARACTERS)),
                "suspects": Passage(label="suspects", text=suspects or "nothing in particular"),
                "said": related_context.person_hints(context, failure.diagnosis.cause, known),
                "diff": diff,
                "lessons": related_context.lessons(context, known),
                "attempts": related_context.attempts(context, PromptSpace(_ATTEMPT_CHARACTERS)),
                "doubted": await doubted_changes(failure, PromptSpace(_DOUBTED_CHARACTERS)),
            },
        )
        errand = door.errand(question, wall_s=max(1.0, budget.time_limit_s * _WORK_SHARE))
        return await failure.workspace.send(errand, door.answer)

    async def _try(self, work: "_Work", failure: Failure, budget: FixBudget) -> tuple[Tried, ...]:
        """Try the agent's change beside the doubted candidates of the rungs below."""
        if work.proposed is None:
            return ()
        limit = min(_TRIAL_S, budget.time_limit_s * (1 - _WORK_SHARE) / 2)
        rivals = [Proposed.from_candidate(one) for one in failure.context.doubted]
        return await self._trials.try_changes(
            failure, [work.proposed], time_limit_s=limit, rivals=rivals
        )


class _Work(NamedTuple):
    """Evaluated result of an agent's work."""

    proposed: Proposed | None = None
    why: str = ""
    """Reason why no change is proposed."""
    warnings: tuple[str, ...] = ()
    can_try: bool = False


async def _evaluate(
    returned: Returned, allowed: Sequence[FileEdit], workspace: Workspace, *, can_try: bool
) -> _Work:
    """Select the edits that may be proposed, with a warning about all others."""
    files = frozenset(await workspace.list_files())
    readable = {edit.path: text for edit in allowed if (text := _text(edit, files)) is not None}
    originals: Mapping[str, str | None] = {
        path: await workspace.read_file(path) for path in readable
    }
    # Uncommitted differences that existed before the agent ran are not its edits.
    kept = {path: text for path, text in readable.items() if text != originals[path]}
    left_out = sorted(edit.path for edit in returned.edits if edit.path not in readable)
    if not kept:
        ended = (
            "ran out of time"
            if returned.result.timed_out
            else f"ended with status {returned.result.exit_code}"
        )
        return _Work(why=f"it {ended} and left no edit of the source")
    gated = check_edits(
        {path: originals[path] for path in kept}, kept, EditRules(files=files, layout=not can_try)
    )
    if gated.rejections:
        return _Work(why=describe_rejections(gated.rejections)[:_WORDS])
    proposed = Proposed(
        id=f"agent-{gated.key[:12]}",
        title=f"change {', '.join(sorted(kept))}"[:120],
        explanation="A coding agent made this change in its own sandbox.",
        changes=tuple(
            FileChange(action=ChangeAction.REPLACE, path=path, content=kept[path])
            for path in sorted(kept)
        ),
        changed_lines=gated.changed_lines,
        fixer="agent",
    )
    warnings = [*map(_flag, gated.flags)]
    if left_out:
        warnings.append(
            f"changes of the agent in {counted(len(left_out), 'other file')} were dropped"
        )
    return _Work(proposed, warnings=tuple(dict.fromkeys(warnings)), can_try=can_try)


def _text(edit: FileEdit, files: frozenset[str]) -> str | None:
    """Return an edited source file as text; None for files that a fix may not edit."""
    if edit.mode == "deleted" or edit.path not in files or is_protected(edit.path):
        return None
    try:
        return edit.content.decode()
    except UnicodeDecodeError:
        return None


def _flag(flag: Concern) -> str:
    return f"{flag.path}: {flag.message or flag.rule}"


def _compared(doubted: Sequence[Candidate], results: Sequence[Tried]) -> tuple[Candidate, ...]:
    """Return the doubted candidates that were compared with the agent's change."""
    found = {one.proposed.id: one.candidate for one in results}
    return tuple(
        rank_again(one, compared) for one in doubted if (compared := found.get(one.id)) is not None
    )


def _why(tried: Tried | None) -> str:
    if tried is None:
        return "its change could not be tried one test at a time"
    return (
        "its change passes"
        if tried.passes
        else f"red with its change: {counted(len(tried.still_failing), 'test')}"
    )


def _note(door: AgentDoor, reason: str, *, tried: int = 0) -> RungNote:
    calls = door.calls
    asked = f"{counted(len(calls), 'request')} to {door.name}"
    return RungNote(
        reason=f"{reason} ({asked})",
        candidates_tried=tried,
        cost_usd=total(calls).cost_usd,
        calls=calls,
    )


def _candidate(work: _Work, tried: Tried | None, door: AgentDoor) -> Candidate | None:
    """Return a passing or improving change, or one that could not be tried."""
    proposed = work.proposed
    if proposed is None or (
        tried is not None and not tried.passes and (tried.broke or not tried.mended)
    ):
        return None
    start = base_candidate(proposed, tried)
    return start.with_(
        template=door.name,
        candidates_tried=1,
        warnings=tuple(dict.fromkeys((*start.warnings, *work.warnings))),
        confident=start.confident and not work.warnings,
    )
