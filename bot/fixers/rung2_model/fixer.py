"""ModelFixer: ask a model for edits and try them like candidates of the search."""

from collections.abc import AsyncIterator, Callable, Iterable
from itertools import islice

from bot.domain.account import ModelLimits
from bot.domain.counted import counted
from bot.domain.diagnosis import Diagnosis
from bot.domain.mission import MissionContext
from bot.domain.model import Role, total
from bot.domain.patch import Candidate, FixBudget, Rung, RungNote
from bot.domain.policy import RepositoryPolicy
from bot.fixers.rung2_model.agent_rounds import AgentRounds
from bot.fixers.rung2_model.bench import Bench, Stopped, TooLarge
from bot.fixers.rung2_model.candidates import select_candidates
from bot.fixers.rung2_model.context import Brief, build_brief
from bot.fixers.rung2_model.function_rounds import FunctionRounds
from bot.fixers.rung2_model.request_more import grant_request
from bot.fixers.rung2_model.rounds import BlockRounds
from bot.fixers.trials import Failure, Trials
from bot.llm.protocol.messages import Wanted
from bot.ports import Minds, Workspace
from sandbox.types import TestReport

_LEAST_TOKENS = 500
"""Minimum size of a prompt, in tokens."""
_MISSIONS = 100
"""Number of missions of which format failures are remembered."""

Allows = Callable[[RepositoryPolicy, Iterable[str]], bool]


def allow_everything(policy: RepositoryPolicy, paths: Iterable[str]) -> bool:  # noqa: ARG001 - any policy
    """Permit edits of every file."""
    return True


class ModelFixer:
    """The model fixer (rung 2).

    Args:
        minds: Models by mission.
        trials: Tries changes in the sandbox.
        limits: Limits of context, answers, samples and rounds.
        allows: Decides whether the repository's policy permits edits of these files.
    """

    def __init__(
        self,
        minds: Minds,
        trials: Trials,
        limits: ModelLimits,
        *,
        allows: Allows = allow_everything,
    ) -> None:
        self._minds = minds
        self._trials = trials
        self._limits = limits
        self._allows = allows
        self._format_failures: dict[str, dict[str, int]] = {}
        """By mission, then by model, so that later climbs of a mission know them."""

    @property
    def name(self) -> str:
        """`model`."""
        return "model"

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
        """Yield a note with the cost, then the changes, best first.

        The note comes first, so that the cost is recorded even if the caller stops early.
        """
        mind = self._minds.of(context.request, context.policy)
        report = context.test_results
        if mind is None or not mind.has(Role.FIX):
            yield RungNote(reason="no model is configured, or the policy allows it no spending")
            return
        if report is None or not self.applies(report):
            yield RungNote(reason="there is no red run to fix")
            return
        failure = Failure(context=context, diagnosis=diagnosis, workspace=workspace)
        files = frozenset(await workspace.list_files())
        bench = Bench(
            mind,
            self._trials,
            failure,
            budget,
            self._limits,
            self._format_failures_of(context.request.mission_id),
            files,
        )
        bench.may_touch = lambda path: self._allows(context.policy, [path])
        bench.layout = report.traits.is_findings
        why = await self._work(bench, report)
        calls = tuple(bench.calls)
        yield RungNote(
            reason=why,
            candidates_tried=bench.tried,
            cost_usd=total(calls).cost_usd,
            calls=calls,
            compared=tuple(bench.doubted.values()),
        )
        candidates = select_candidates(bench, calls[-1].model if calls else "")
        for candidate in islice(candidates, budget.max_survivors):
            yield candidate

    def _format_failures_of(self, mission: str) -> dict[str, int]:
        """Return a mission's counts; those of the oldest missions are dropped."""
        found = self._format_failures.pop(mission, {})
        self._format_failures[mission] = found
        if len(self._format_failures) > _MISSIONS:
            del self._format_failures[next(iter(self._format_failures))]
        return found

    async def _work(self, bench: Bench, report: TestReport) -> str:
        """Ask and try until a change passes or a limit is reached; return the reason."""
        tokens = self._limits.context_tokens
        while tokens >= _LEAST_TOKENS:
            brief = await build_brief(bench.failure, report, tokens)
            try:
                await self._ask(bench, brief, report)
            except TooLarge:
                # Our token estimate was too low for this model.
                tokens //= 2
                continue
            except Stopped as stopped:
                return f"{_summarize(bench)}: {stopped}"
            return _summarize(bench)
        return f"{_summarize(bench)}: even a small prompt is too large for the model"

    async def _ask(self, bench: Bench, brief: Brief, report: TestReport) -> None:
        """Ask for edits, let the model work in steps, or both if nothing passes at first."""
        if self._limits.fix != "agent":
            await self._ask_for_edits(bench, brief, report)
        if self._limits.fix == "agent" or (self._limits.fix == "auto" and not bench.passing):
            await _work_in_steps(bench, brief, report)

    async def _ask_for_edits(self, bench: Bench, brief: Brief, report: TestReport) -> None:
        """Ask for edit blocks, then for whole functions if the model fails at blocks."""
        weak = self._limits.edit_format == "auto" and bench.weak_at_format_everywhere
        if self._limits.edit_format != "function" and not weak:
            blocks = BlockRounds(bench, brief)
            await blocks.run()
            if blocks.misses_files or not blocks.failed_at_format:
                return
        await FunctionRounds(bench, brief, report).run()


async def _work_in_steps(bench: Bench, brief: Brief, report: TestReport) -> None:
    """Let an agent work; if its change passes and is not certain, ask for independent answers.

    These answers see the same facts but not the agent's steps, so their agreement is evidence.
    """
    await AgentRounds(bench, brief, report).run()
    if bench.seeks_agreement:
        await BlockRounds(bench, await _with_changed(bench, brief)).agree()


async def _with_changed(bench: Bench, brief: Brief) -> Brief:
    """Return the brief with the files that passing changes edit, as far as it lacks them."""
    shown = {file.path for file in brief.sent}
    edited = {change.path for work in bench.passing for change in work.proposed.changes}
    missing = tuple(sorted(edited - shown))
    return await grant_request(Wanted(files=missing), brief) if missing else brief


def _summarize(bench: Bench) -> str:
    """Summarize the climb in words."""
    answers = len(bench.calls)
    asked = counted(answers, "answer")
    if bench.passing:
        return f"passing: {len(bench.passing)} of {counted(bench.tried, 'change')} ({asked})"
    if not bench.tried:
        return f"no usable change in {asked}"
    return f"no change of {bench.tried} makes all failing tests pass ({asked})"
