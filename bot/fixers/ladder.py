"""Run the fixers in order of cost until one is confident or the budget is spent."""

import asyncio
import heapq
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from bot.domain.diagnosis import Diagnosis, Suspect
from bot.domain.lesson import Lesson, RecalledLesson
from bot.domain.mission import MissionContext
from bot.domain.model import ModelCall
from bot.domain.patch import Candidate, FixAttempt, FixBudget, NearMiss, Rung, RungNote
from bot.ports import Clock, Fixer, Workspace
from sandbox.errors import ChangeRejected
from sandbox.types import TestReport

LEAST_S = 0.5
"""No rung starts with less time than this left, in seconds."""

MODEL_FIRST = 3
"""Accepted fixes of one error, all by a model, from which it is asked before the search."""

Proposals = AsyncIterator[Candidate | RungNote]


@dataclass
class _Climb:
    """State of one climb: candidates, notes and spending so far."""

    context: MissionContext
    diagnosis: Diagnosis
    candidates: list[Candidate] = field(default_factory=list)
    """Candidates of the current fixer."""
    parts: list[Candidate] = field(default_factory=list)
    """Candidates that fix only some failing tests, kept as a fallback."""
    notes: list[str] = field(default_factory=list)
    calls: list[ModelCall] = field(default_factory=list)
    near: list[NearMiss] = field(default_factory=list)
    suspects: list[Suspect] = field(default_factory=list)
    recalled: list[RecalledLesson] = field(default_factory=list)
    rungs: list[int] = field(default_factory=list)
    tried: int = 0
    cost_usd: float = 0.0
    question: str = ""
    model_s: float = 0.0
    """Time used by the rungs that call a model, in seconds."""

    def record(self, note: RungNote) -> None:
        """Record a rung's note, so that later rungs see its near misses and suspects."""
        self.question = self.question or note.question
        self.calls += note.calls
        self.near += note.near
        self.context = self.context.with_(near_misses=(*self.context.near_misses, *note.near))
        self.suspects += note.suspects
        self.recalled += note.recalled_lessons
        self.diagnosis = with_suspects(self.diagnosis, note.suspects)
        again = {one.id: one for one in note.compared}
        doubted = tuple(again.get(one.id, one) for one in self.context.doubted)
        self.context = self.context.with_(doubted=doubted)

    def set_aside(self) -> None:
        """Keep the current candidates as evidence for the next fixer, and as a fallback."""
        whole = tuple(one for one in self.candidates if not one.partial)
        # The first partial result is the fallback if higher rungs find nothing.
        self.parts = self.parts or [one for one in self.candidates if one.partial]
        known = {one.id for one in whole}
        earlier = tuple(one for one in self.context.doubted if one.id not in known)
        self.context = self.context.with_(doubted=(*earlier, *whole))
        self.candidates = []

    @property
    def ranked(self) -> tuple[Candidate, ...]:
        """Return all candidates: confident ones, then the last fixer's, then the likeliest."""
        known = {one.id for one in self.candidates}
        by_rung: dict[Rung, list[Candidate]] = {}
        for one in self.context.doubted:
            if one.id not in known:
                by_rung.setdefault(one.rung, []).append(one)
        # Each rung's own order stays: it puts another behaviour before a second twin.
        doubted = heapq.merge(*by_rung.values(), key=lambda one: -one.score)
        # A candidate that another rung agrees with may have become confident.
        ranked = sorted((*self.candidates, *doubted), key=lambda one: not one.confident)
        return tuple(ranked or self.parts)


async def climb(  # noqa: PLR0917 - the ladder is where all parts meet
    context: MissionContext,
    diagnosis: Diagnosis,
    workspace: Workspace,
    fixers: Sequence[Fixer],
    budget: FixBudget,
    clock: Clock,
) -> FixAttempt:
    """Return candidates of the cheapest rung that is confident, within the budget.

    A candidate that is not confident, or fixes only some failing tests, does not end the climb. The
    next fixer sees it as evidence and compares its own candidates with it. It is returned as well,
    behind those of a confident fixer.

    Args:
        context: The allowed rungs, and near misses and doubted candidates of an earlier climb.
        diagnosis: Suspect lines and failures.
        workspace: On the failing tree; left unchanged.
        fixers: All available fixers, in any order.
        budget: Time, candidates and money for all rungs. The model rung has its own time and
            candidates.
        clock: Measures the time of each rung.

    Raises:
        SandboxError: The sandbox is gone.
    """
    started = clock.monotonic()
    so_far = _Climb(context, diagnosis)
    allowed = set(context.policy.rungs) & set(context.request.rungs)
    asked = _useful(fixers, context.test_results)
    for fixer in sorted(asked, key=lambda one: (one.rung is not budget.first, one.rung)):
        if fixer.rung not in allowed:
            so_far.notes.append(_note(fixer, "this rung is not allowed here"))
            continue
        begun = clock.monotonic()
        left = _left(budget, so_far, fixer.rung, seconds=begun - started)
        if isinstance(left, str):
            so_far.notes.append(_note(fixer, left))
            continue
        await _ask(fixer, workspace, left, so_far)
        if fixer.rung is Rung.MODEL:
            so_far.model_s += clock.monotonic() - begun
        so_far.rungs.append(int(fixer.rung))
        if any(is_sure(one) for one in (*so_far.candidates, *so_far.context.doubted)):
            break
        so_far.set_aside()
    return FixAttempt(
        candidates=so_far.ranked[: budget.max_survivors],
        candidates_tried=so_far.tried,
        seconds=round(clock.monotonic() - started, 3),
        notes=tuple(so_far.notes),
        cost_usd=so_far.cost_usd,
        question=so_far.question,
        calls=tuple(so_far.calls),
        rungs=tuple(dict.fromkeys(so_far.rungs)),
        near=tuple(so_far.near),
        suspects=tuple(so_far.suspects),
        recalled_lessons=tuple(so_far.recalled),
    )


def find_first_rung(accepted: Sequence[Lesson]) -> Rung | None:
    """Return the rung to ask first: the model, where only its fixes were accepted.

    Only a model is worth a turn before the cheaper rungs: a search takes a minute to find nothing.

    Args:
        accepted: Lessons of the same error whose fix people accepted.
    """
    rungs = [one.rung for one in accepted]
    only_model = all(rung == Rung.MODEL for rung in rungs)
    return Rung.MODEL if only_model and len(rungs) >= MODEL_FIRST else None


def is_sure(candidate: Candidate) -> bool:
    """Return True if a candidate ends the climb: it repairs everything, beyond doubt.

    Args:
        candidate: A candidate of any rung.
    """
    return candidate.confident and not candidate.partial


def is_doubted(candidate: Candidate) -> bool:
    """Return True if a candidate repairs everything, but is not confident."""
    return not (candidate.confident or candidate.partial)


def with_suspects(diagnosis: Diagnosis, suspects: Sequence[Suspect]) -> Diagnosis:
    """Return the diagnosis with a rung's suspects in front of its own.

    Args:
        diagnosis: Suspects known before.
        suspects: Places the rung examined, most suspicious first.
    """
    known = {(suspect.file, suspect.line) for suspect in suspects}
    rest = (one for one in diagnosis.suspects if (one.file, one.line) not in known)
    return diagnosis.with_(suspects=(*suspects, *rest))


def _left(budget: FixBudget, so_far: _Climb, rung: Rung, *, seconds: float) -> FixBudget | str:
    """Return the next rung's budget, or the reason why it gets none."""
    # A model has its own time limit: the rest of a long search is too short for one answer.
    is_model = rung is Rung.MODEL
    time_left = (
        budget.model_time_limit_s - so_far.model_s
        if is_model
        else budget.time_limit_s - (seconds - so_far.model_s)
    )
    if time_left < LEAST_S:
        return "no time left for this rung"
    left = budget.with_(
        time_limit_s=time_left, money_usd=max(0.0, budget.money_usd - so_far.cost_usd)
    )
    if is_model:
        return left
    candidates_left = budget.max_candidates - so_far.tried
    if candidates_left <= 0:
        return "no candidates left for this rung"
    return left.with_(max_candidates=candidates_left)


def _useful(fixers: Sequence[Fixer], red: TestReport | None) -> tuple[Fixer, ...]:
    """Return the fixers of a failure; of a rung that has none, the first one, which says why."""
    found: dict[Rung, list[Fixer]] = {}
    for fixer in fixers:
        found.setdefault(fixer.rung, []).append(fixer)
    chosen: list[Fixer] = []
    for ours in found.values():
        applying = [one for one in ours if red is None or one.applies(red)]
        chosen += applying or ours[:1]
    return tuple(chosen)


async def _ask(fixer: Fixer, workspace: Workspace, budget: FixBudget, so_far: _Climb) -> None:
    """Collect one rung's candidates until it ends or the budget is spent."""
    tried, reason = 0, ""
    limit = asyncio.timeout(budget.time_limit_s)
    about = (so_far.context, so_far.diagnosis, workspace)
    try:
        async with limit, _closing(fixer.propose(*about, budget)) as proposals:
            async for proposal in proposals:
                tried = max(tried, proposal.candidates_tried)
                so_far.cost_usd += proposal.cost_usd
                if isinstance(proposal, RungNote):
                    reason = proposal.reason
                    so_far.record(proposal)
                    continue
                so_far.candidates.append(proposal)
                if len(so_far.candidates) >= budget.max_survivors or _is_spent(
                    budget, so_far, proposal, tried
                ):
                    break
    except TimeoutError:
        # A TimeoutError of the fixer itself is an error, not our limit.
        if not limit.expired():
            raise
        reason = f"stopped after {budget.time_limit_s:.0f} s, the remaining time"
        await workspace.revert()
    except ChangeRejected as error:
        reason = error.message
        await workspace.revert()
    so_far.tried += tried
    if not so_far.candidates:
        so_far.notes.append(_note(fixer, reason or "proposed nothing"))
    elif all(one.partial for one in so_far.candidates):
        so_far.notes.append(
            _note(fixer, reason or "its candidates fix only some of the failing tests")
        )
    elif not any(map(is_sure, so_far.candidates)):
        so_far.notes.append(_note(fixer, reason or "its candidates pass, but are not certain"))


def _is_spent(budget: FixBudget, so_far: _Climb, proposal: Candidate, tried: int) -> bool:
    """Return True if the budget allows no further candidate; the money limits only paid ones."""
    return tried >= budget.max_candidates or (
        proposal.cost_usd > 0.0 and so_far.cost_usd >= budget.money_usd
    )


def _note(fixer: Fixer, reason: str) -> str:
    return f"rung {int(fixer.rung)} ({fixer.name}): {reason}"


@asynccontextmanager
async def _closing(proposals: Proposals) -> AsyncIterator[Proposals]:
    """Close the fixer's generator before the next rung uses the workspace."""
    try:
        yield proposals
    finally:
        if isinstance(proposals, AsyncGenerator):
            # Leaving the loop early does not close an async generator.
            await proposals.aclose()
