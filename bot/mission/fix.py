"""FIX: the budget of a climb, and its candidates that were not rejected before."""

import hashlib
from collections.abc import Collection, Iterable

from bot.domain.counted import counted
from bot.domain.mission import MissionContext
from bot.domain.patch import Candidate, FixAttempt, FixBudget, Rung
from bot.domain.policy import Limits, RepositoryPolicy
from bot.mission.tree import list_paths
from bot.policy.rules import path_refusals
from bot.ports import Fixer
from sandbox.types import FileChange, TestReport

_LEAST_SECONDS = 1.0
"""Minimum time limit of a search of the ladder, in seconds."""
_REASONS_SHOWN = 3


def usable_rungs(
    context: MissionContext, fixers: Iterable[Fixer], report: TestReport
) -> frozenset[Rung]:
    """Return the rungs with a fixer that applies, allowed by both repository and request.

    Args:
        context: Policy and request.
        fixers: All fixers.
        report: The red run to repair.
    """
    allowed = set(context.policy.rungs) & set(context.request.rungs)
    return frozenset(
        fixer.rung for fixer in fixers if fixer.rung in allowed and fixer.applies(report)
    )


def compute_budget(context: MissionContext, limits: Limits) -> FixBudget:
    """Return the budget of one search of the ladder: the request's, else policy's and limits'.

    It never exceeds what is left of the mission.

    Args:
        context: Request, policy and budget.
        limits: Limits of one search of the ladder.
    """
    wanted = context.request.time_limit_s or min(context.policy.time_limit, limits.time_limit)
    wanted_of_model = context.request.time_limit_s or limits.model_s
    left = context.budget.seconds - context.budget.spent_seconds
    return FixBudget(
        time_limit_s=max(_LEAST_SECONDS, min(wanted, left)),
        model_time_limit_s=max(_LEAST_SECONDS, min(wanted_of_model, left)),
        max_candidates=limits.max_candidates,
        money_usd=max(0.0, context.budget.money_usd - context.budget.spent_usd),
    )


def describe_exhausted(attempt: FixAttempt) -> str:
    """Describe why nothing could be proposed, rung by rung."""
    tried = f"{counted(attempt.candidates_tried, 'candidate')} tried"
    return "; ".join(("the ladder is exhausted", tried, *attempt.notes[:5]))


def without_refused(attempt: FixAttempt, refused: Collection[str]) -> FixAttempt:
    """Return an attempt without duplicates and without candidates that were rejected before.

    Args:
        attempt: The ladder's result.
        refused: Keys of rejected edits, see `edits_key`.
    """
    kept: dict[str, Candidate] = {}
    for candidate in attempt.candidates:
        kept.setdefault(edits_key(candidate.changes), candidate)
    left = tuple(c for key, c in kept.items() if key not in refused)
    if len(left) == len(attempt.candidates):
        return attempt
    dropped = counted(len(attempt.candidates) - len(left), "candidate")
    note = f"not tried again: {dropped} refused before"
    return attempt.with_(candidates=left, notes=(*attempt.notes, note))


def within_policy(attempt: FixAttempt, policy: RepositoryPolicy) -> FixAttempt:
    """Return an attempt without candidates that touch forbidden files; a note names them.

    Args:
        attempt: The ladder's result.
        policy: The repository's policy.
    """
    told = [
        (c, path_refusals(policy, (path for change in c.changes for path in list_paths(change))))
        for c in attempt.candidates
    ]
    reasons = tuple(dict.fromkeys(reason for _, reasons in told for reason in reasons))
    left = tuple(candidate for candidate, reasons in told if not reasons)
    return attempt.with_(candidates=left, notes=(*attempt.notes, *reasons[:_REASONS_SHOWN]))


def edits_key(changes: tuple[FileChange, ...]) -> str:
    """Return a key of a set of edits, independent of its fixer.

    Args:
        changes: A candidate's changes.
    """
    # Sorted, because fixers may list the same edits in any order.
    parts = sorted(change.model_dump_json() for change in changes)
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
