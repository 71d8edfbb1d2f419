"""Climb the ladder: ask each rung in turn for candidates until one gives some or the budget is spent."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from bot.domain.diagnosis import Diagnosis
from bot.domain.mission import MissionContext
from bot.domain.patch import Candidate, FixAttempt, FixBudget, RungNote
from bot.ports import Clock, Fixer, Workspace
from sandbox.errors import ChangeRejected

LEAST_S = 0.5
"""With less than this left no rung is asked any more."""

Proposals = AsyncIterator[Candidate | RungNote]


@dataclass
class _Climb:
    """What has been found and spent so far; lives for one climb."""

    candidates: list[Candidate] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    tried: int = 0
    cost_usd: float = 0.0
    question: str = ""


async def climb(  # noqa: PLR0917 - the ladder stands where everything meets
    context: MissionContext,
    diagnosis: Diagnosis,
    workspace: Workspace,
    fixers: Sequence[Fixer],
    budget: FixBudget,
    clock: Clock,
) -> FixAttempt:
    """Candidates of the cheapest rung that has any; never beyond the budget.

    Args:
        context: Which rungs are allowed here.
        diagnosis: Where to look.
        workspace: On the failing tree; left as it was found.
        fixers: Every rung there is, in any order.
        budget: Time, candidates and money for all rungs together.
        clock: Measures them.

    Raises:
        SandboxError: the sandbox went away.
    """
    started = clock.monotonic()
    so_far = _Climb()
    allowed = set(context.policy.rungs) & set(context.request.rungs)
    for fixer in sorted(fixers, key=lambda one: one.rung):
        if fixer.rung not in allowed:
            so_far.notes.append(_note(fixer, "this rung is not allowed here"))
            continue
        left = _left(budget, so_far, seconds=clock.monotonic() - started)
        if isinstance(left, str):
            so_far.notes.append(_note(fixer, left))
            continue
        await _ask(fixer, (context, diagnosis, workspace), left, so_far)
        if so_far.candidates:
            break
    return FixAttempt(
        candidates=tuple(so_far.candidates),
        candidates_tried=so_far.tried,
        seconds=round(clock.monotonic() - started, 3),
        notes=tuple(so_far.notes),
        cost_usd=so_far.cost_usd,
        question=so_far.question,
    )


def _left(budget: FixBudget, so_far: _Climb, *, seconds: float) -> FixBudget | str:
    """What the next rung may spend, or why it may not spend anything."""
    time_left = budget.time_limit_s - seconds
    if time_left < LEAST_S:
        return "the time was spent before this rung's turn"
    candidates_left = budget.max_candidates - so_far.tried
    if candidates_left <= 0:
        return "the candidates were spent before this rung's turn"
    return budget.with_(
        time_limit_s=time_left,
        max_candidates=candidates_left,
        money_usd=max(0.0, budget.money_usd - so_far.cost_usd),
    )


async def _ask(
    fixer: Fixer, about: tuple[MissionContext, Diagnosis, Workspace], budget: FixBudget, so_far: _Climb
) -> None:
    """Take one rung's candidates until it ends or the budget does."""
    workspace = about[2]
    tried, reason = 0, ""
    limit = asyncio.timeout(budget.time_limit_s)
    try:
        async with limit, _closing(fixer.propose(*about, budget)) as proposals:
            async for proposal in proposals:
                tried = max(tried, proposal.candidates_tried)
                if isinstance(proposal, RungNote):
                    reason = proposal.reason
                    so_far.question = so_far.question or proposal.question
                    so_far.cost_usd += proposal.cost_usd
                    continue
                so_far.cost_usd += proposal.cost_usd
                so_far.candidates.append(proposal)
                if len(so_far.candidates) >= budget.max_survivors or _is_spent(budget, so_far, tried):
                    break
    except TimeoutError:
        if not limit.expired():
            raise
        reason = f"stopped after {budget.time_limit_s:.0f} s, the time that was left"
        await workspace.revert()
    except ChangeRejected as error:
        reason = error.message
        await workspace.revert()
    so_far.tried += tried
    if not so_far.candidates:
        so_far.notes.append(_note(fixer, reason or "proposed nothing"))


def _is_spent(budget: FixBudget, so_far: _Climb, tried: int) -> bool:
    return tried >= budget.max_candidates or (so_far.cost_usd > 0.0 and so_far.cost_usd >= budget.money_usd)


def _note(fixer: Fixer, reason: str) -> str:
    return f"rung {int(fixer.rung)} ({fixer.name}): {reason}"


@asynccontextmanager
async def _closing(proposals: Proposals) -> AsyncIterator[Proposals]:
    """Whatever happens, the fixer gets to clean up before the next rung touches the workspace."""
    try:
        yield proposals
    finally:
        if isinstance(proposals, AsyncGenerator):
            await proposals.aclose()
