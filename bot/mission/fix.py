"""FIX: climb the ladder, keep what was not refused before."""

import hashlib
from collections.abc import Collection, Iterable

from bot.domain.diagnosis import Diagnosis
from bot.domain.mission import MissionContext
from bot.domain.patch import Candidate, FixAttempt, FixBudget, Rung
from bot.domain.policy import Limits, RepositoryPolicy
from bot.fixers.ladder import climb
from bot.mission.tree import paths_of
from bot.policy.rules import forbidden
from bot.ports import Clock, Fixer, Workspace
from sandbox.types import FileChange, TestReport

_LEAST_SECONDS = 1.0
_REASONS_SHOWN = 3


async def find_fix(
    context: MissionContext,
    diagnosis: Diagnosis,
    workspace: Workspace,
    *,
    fixers: tuple[Fixer, ...],
    limits: Limits,
    clock: Clock,
) -> FixAttempt:
    """Ask the rungs of the ladder for candidates.

    Args:
        context: With `test_results` of the very tree the workspace shows.
        diagnosis: Where to look.
        workspace: On that tree; left as it was found.
        fixers: Every rung there is.
        limits: The most a climb may spend.
        clock: Measures it.
    """
    return await climb(context, diagnosis, workspace, fixers, budget_of(context, limits), clock)


def usable_rungs(context: MissionContext, fixers: Iterable[Fixer], report: TestReport) -> frozenset[Rung]:
    """Return the rungs with a fixer that applies, as far as both repository and request allow them.

    Args:
        context: Policy and request.
        fixers: Every fixer there is.
        report: The red run to repair.
    """
    allowed = set(context.policy.rungs) & set(context.request.rungs)
    return frozenset(fixer.rung for fixer in fixers if fixer.rung in allowed and fixer.applies(report))


def budget_of(context: MissionContext, limits: Limits) -> FixBudget:
    """What one climb may spend: what was asked for, else what policy and limits allow; never more than is left.

    Args:
        context: Request, policy and budget.
        limits: The most a climb may spend.
    """
    wanted = context.request.time_limit_s or min(context.policy.time_limit_s, limits.search_s)
    wanted_of_model = context.request.time_limit_s or limits.model_s
    left = context.budget.seconds - context.budget.spent_seconds
    return FixBudget(
        time_limit_s=max(_LEAST_SECONDS, min(wanted, left)),
        model_time_limit_s=max(_LEAST_SECONDS, min(wanted_of_model, left)),
        max_candidates=limits.max_candidates,
        money_usd=max(0.0, context.budget.money_usd - context.budget.spent_usd),
    )


def without_refused(attempt: FixAttempt, refused: Collection[str]) -> FixAttempt:
    """An attempt without candidates whose edits were refused before, and without doubles.

    Args:
        attempt: What the ladder gave.
        refused: Keys of edits, see `edits_key`.
    """
    kept: dict[str, Candidate] = {}
    for candidate in attempt.candidates:
        kept.setdefault(edits_key(candidate.changes), candidate)
    left = tuple(c for key, c in kept.items() if key not in refused)
    if len(left) == len(attempt.candidates):
        return attempt
    note = f"{len(attempt.candidates) - len(left)} candidates were refused before and not tried again"
    return attempt.with_(candidates=left, notes=(*attempt.notes, note))


def within_policy(attempt: FixAttempt, policy: RepositoryPolicy) -> FixAttempt:
    """An attempt without candidates that touch files the repository's policy keeps from us; a note says which.

    Args:
        attempt: What the ladder gave.
        policy: Of the repository.
    """
    told = [
        (c, forbidden(policy, (path for change in c.changes for path in paths_of(change)))) for c in attempt.candidates
    ]
    reasons = tuple(dict.fromkeys(reason for _, reasons in told for reason in reasons))
    left = tuple(candidate for candidate, reasons in told if not reasons)
    return attempt.with_(candidates=left, notes=(*attempt.notes, *reasons[:_REASONS_SHOWN]))


def edits_key(changes: tuple[FileChange, ...]) -> str:
    """Names a set of edits, whoever proposed them.

    Args:
        changes: What a candidate changes.
    """
    parts = sorted(change.model_dump_json() for change in changes)
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
