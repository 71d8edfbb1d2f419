"""A coding agent as worker: sent into a sandbox of its own; what it leaves behind is a candidate like any other."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import NamedTuple

from bot.domain.diagnosis import Diagnosis
from bot.domain.mission import MissionContext
from bot.domain.model import Passage, Question, Role, total
from bot.domain.patch import Candidate, FixBudget, Rung, RungNote
from bot.fixers.rung2_model.budget import Room
from bot.fixers.rung2_model.candidates import start_of
from bot.fixers.rung2_model.edits import EditRules, told
from bot.fixers.rung2_model.edits.gates import passed
from bot.fixers.rung2_model.failing import failing_passages
from bot.fixers.rung2_model.fixer import Allows, everything
from bot.fixers.trials import Failure, Proposed, Trials, Tried
from bot.ports import AgentDoor, AgentDoors, Workspace
from sandbox.changes import Concern, is_protected
from sandbox.errors import ChangeRejected, HostGone, SandboxUnavailable
from sandbox.types import ChangeAction, FileChange, FileEdit, Returned, TestReport

_WORK_SHARE = 0.75
"""Of the time that is left; the rest is for the trial."""
_TRIAL_S = 60.0
_FAILING_CHARACTERS = 6_000
_SUSPECTS = 10
_WORDS = 300


class AgentWorker:
    """Rung 2, where the operator set an agent up.

    Args:
        doors: The model behind each agent's door.
        trials: Tries what comes back, where tests can be run one by one.
        allows: Whether a repository's policy lets us touch these files.
    """

    def __init__(self, doors: AgentDoors, trials: Trials, allows: Allows = everything) -> None:
        self._doors = doors
        self._trials = trials
        self._allows = allows

    @property
    def name(self) -> str:
        """`agent`."""
        return "agent"

    @property
    def rung(self) -> Rung:
        """The third step of the ladder."""
        return Rung.MODEL

    def applies(self, report: TestReport) -> bool:
        """Return whether there is a failure to show; a model reads every runner's output."""
        return not report.success

    async def propose(
        self, context: MissionContext, diagnosis: Diagnosis, workspace: Workspace, budget: FixBudget
    ) -> AsyncIterator[Candidate | RungNote]:
        """At most one change. The note comes ahead of it: it carries what was paid."""
        door = self._doors.of(context.request, context.policy)
        report = context.test_results
        if door is None or report is None or not self.applies(report):
            yield RungNote(reason="there is no red run to mend" if door else "the policy gives it no money")
            return
        failure = Failure(context=context, diagnosis=diagnosis, workspace=workspace)
        try:
            returned = await self._sent(door, failure, report, budget)
            allowed = [edit for edit in returned.edits if self._allows(context.policy, [edit.path])]
            can_try = report.knows_tests and bool(report.failing)
            work = await _work_of(returned, allowed, workspace, can_try=can_try)
            tried = await self._tried(work, failure, budget) if work.can_try else None
        except HostGone:
            raise  # the mission waits for it
        except (SandboxUnavailable, ChangeRejected) as error:
            await workspace.revert()
            yield _note(door, error.message)
            return
        yield _note(door, work.why or _why(tried), tried=int(work.proposed is not None))
        candidate = _candidate(work, tried, door)
        if candidate is not None:
            yield candidate

    async def _sent(self, door: AgentDoor, failure: Failure, report: TestReport, budget: FixBudget) -> Returned:
        suspects = "\n".join(f"{one.file}:{one.line} {one.reason}" for one in failure.diagnosis.suspects[:_SUSPECTS])
        question = Question(
            stage="agent",
            prompt="agent",
            role=Role.FIX,
            gaps={
                "command": Passage(label="the command", text=report.target),
                "failing": failing_passages(failure.context, report, Room(_FAILING_CHARACTERS)),
                "suspects": Passage(label="suspects", text=suspects or "nothing in particular"),
            },
        )
        errand = door.errand(question, wall_s=max(1.0, budget.time_limit_s * _WORK_SHARE))
        return await failure.workspace.send(errand, door.answer)

    async def _tried(self, work: "_Work", failure: Failure, budget: FixBudget) -> Tried | None:
        if work.proposed is None:
            return None
        limit = min(_TRIAL_S, budget.time_limit_s * (1 - _WORK_SHARE) / 2)
        (tried,) = await self._trials.try_changes(failure, [work.proposed], time_limit_s=limit)
        return tried


class _Work(NamedTuple):
    """What came back, weighed."""

    proposed: Proposed | None = None
    why: str = ""
    """Why nothing of it is proposed."""
    warnings: tuple[str, ...] = ()
    can_try: bool = False


async def _work_of(returned: Returned, allowed: Sequence[FileEdit], workspace: Workspace, *, can_try: bool) -> _Work:
    """The edits that may be proposed; whatever else it left behind is left out, and said."""
    files = frozenset(await workspace.list_files())
    readable = {edit.path: text for edit in allowed if (text := _text(edit, files)) is not None}
    originals: Mapping[str, str | None] = {path: await workspace.read_file(path) for path in readable}
    # What stood there before the agent came is not its work.
    kept = {path: text for path, text in readable.items() if text != originals[path]}
    left_out = sorted(edit.path for edit in returned.edits if edit.path not in readable)
    if not kept:
        ended = "ran out of time" if returned.result.timed_out else f"ended with status {returned.result.exit_code}"
        return _Work(why=f"it {ended} and left no edit of the source ({len(left_out)} others)")
    gated = passed({path: originals[path] for path in kept}, kept, EditRules(files=files, layout=not can_try))
    if gated.rejections:
        return _Work(why=told(gated.rejections)[:_WORDS])
    proposed = Proposed(
        id=f"agent-{gated.key[:12]}",
        title=f"change {', '.join(sorted(kept))}"[:120],
        explanation="A coding agent made this change in a sandbox of its own.",
        changes=tuple(FileChange(action=ChangeAction.REPLACE, path=path, content=kept[path]) for path in sorted(kept)),
        changed_lines=gated.changed_lines,
        fixer="agent",
    )
    warnings = [*map(_flag, gated.flags)]
    if left_out:
        warnings.append(f"the agent also touched {len(left_out)} other files, which were left as they are")
    return _Work(proposed, warnings=tuple(dict.fromkeys(warnings)), can_try=can_try)


def _text(edit: FileEdit, files: frozenset[str]) -> str | None:
    """An edited source file as text; None for what a fix does not touch."""
    if edit.mode == "deleted" or edit.path not in files or is_protected(edit.path):
        return None
    try:
        return edit.content.decode()
    except UnicodeDecodeError:
        return None


def _flag(flag: Concern) -> str:
    return f"{flag.path}: {flag.message or flag.rule}"


def _why(tried: Tried | None) -> str:
    if tried is None:
        return "its change could not be tried one test at a time"
    return "its change passes" if tried.passes else f"with its change {len(tried.still_failing)} tests still fail"


def _note(door: AgentDoor, reason: str, *, tried: int = 0) -> RungNote:
    calls = door.calls
    asked = f"{len(calls)} {'request' if len(calls) == 1 else 'requests'} to {door.name}"
    return RungNote(reason=f"{reason} ({asked})", candidates_tried=tried, cost_usd=total(calls).cost_usd, calls=calls)


def _candidate(work: _Work, tried: Tried | None, door: AgentDoor) -> Candidate | None:
    """What passes; else what helps; else what nobody could try."""
    proposed = work.proposed
    if proposed is None or (tried is not None and not tried.passes and (tried.broke or not tried.mended)):
        return None
    start = start_of(proposed, tried)
    return start.with_(
        template=door.name,
        candidates_tried=1,
        warnings=tuple(dict.fromkeys((*start.warnings, *work.warnings))),
        confident=start.confident and not work.warnings,
    )
