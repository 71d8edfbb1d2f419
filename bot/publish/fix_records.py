"""Record of fixes: rejected, offered, and shown for a person's decision."""

import logging
from collections.abc import Awaitable
from typing import TypeVar

from bot.domain.mission import Outcome
from bot.domain.patch import Choice
from bot.domain.registry import FixState, OfferedFix, Proposal, ProposedChange
from bot.domain.request import MissionRequest, Trigger
from bot.errors import StoreError
from bot.ports import RegistryReads
from bot.publish.offer import Offer
from bot.publish.services import PublishServices
from bot.publish.story import Story, patch_id

Answer = TypeVar("Answer")

_NOT_TO_BE_HAD = frozenset({Outcome.STALE, Outcome.DUPLICATE, Outcome.CANCELLED, Outcome.POLICY})
"""Outcomes whose change would be rejected again."""

log = logging.getLogger(__name__)


async def refused_before(story: Story, services: PublishServices) -> OfferedFix | None:
    """Return the record of this change's rejection; None if a person now asks for the fix."""
    request = story.context.request
    if (
        services.registry is None
        or request.repository is None
        or story.fix is None
        or is_asked(story)
    ):
        return None
    found = await _quietly(
        services.registry.is_blocked(request.repository.id, patch_id(story.fix[1].diff))
    )
    # A repeated run of the same mission must not block itself.
    return found if found is not None and found.mission_id != story.context.mission_id else None


async def is_known_change(
    request: MissionRequest, registry: RegistryReads | None, diff: str
) -> bool:
    """Return True if this change is offered already, or if a person refused it.

    Args:
        request: The request; a person who asks may get a refused change again.
        registry: The record of offered fixes; None knows none.
        diff: The change.
    """
    if registry is None or request.repository is None:
        return False
    wanted = patch_id(diff)
    fixes = await _quietly(registry.offered(request.repository.id, state=FixState.OPEN)) or ()
    if any(fix.patch_id == wanted for fix in fixes):
        return True
    if request.trigger is Trigger.COMMENT:
        return False
    return await _quietly(registry.is_blocked(request.repository.id, wanted)) is not None


def is_asked(story: Story) -> bool:
    """Return True if a person asked for this mission."""
    return story.context.request.trigger is Trigger.COMMENT


def is_chosen(story: Story) -> bool:
    """Return True if a person chose this change."""
    answer = story.context.request.answer
    return answer is not None and answer.choice is not None


async def ended_by_us(services: PublishServices, repository_id: int, number: int) -> bool:
    """Return True if we closed the pull request ourselves, so that its fix was not rejected."""
    if services.registry is None:
        return False
    rows = await _quietly(services.registry.offered(repository_id, pull_request=number)) or ()
    return any(row.state in {FixState.SUPERSEDED, FixState.EXPIRED} for row in rows)


async def open_elsewhere(story: Story, services: PublishServices) -> str:
    """Describe an open fix for an older commit of this branch; empty if there is none."""
    request = story.context.request
    if services.registry is None or request.repository is None:
        return ""
    fixes = (
        await _quietly(services.registry.offered(request.repository.id, state=FixState.OPEN)) or ()
    )
    ours = [
        fix
        for fix in fixes
        if fix.pull_request is not None and fix.base_branch == request.head_branch
    ]
    return (
        f"A fix for this branch is already open: pull request #{ours[0].pull_request}."
        if ours
        else ""
    )


async def remember_offer(story: Story, services: PublishServices, offer: Offer) -> None:
    """Record an offered fix; later decisions of people are kept."""
    request = story.context.request
    if (
        services.registry is None
        or request.repository is None
        or request.head_sha is None
        or story.fix is None
    ):
        return
    if not offer.delivered:
        return
    verification = story.fix[1]
    checks = (*((request.check,) if request.check else ()), *request.also_red)
    fix = OfferedFix(
        repository=request.repository,
        fingerprint=story.context.fingerprint,
        base_branch=request.head_branch or "",
        head_sha=request.head_sha,
        branch=offer.branch or request.head_branch or "",
        commit=offer.commit or request.head_sha,
        patch_id=patch_id(verification.diff),
        pull_request=offer.pull_request.number if offer.pull_request else None,
        for_pull_request=request.pull_request,
        checks=tuple(dict.fromkeys(check.name for check in checks)),
        files={edit.path: edit.mode for edit in verification.edits},
        mission_id=story.context.mission_id,
        at=story.context.created_at,
    )
    known = (
        await _quietly(
            services.registry.offered(request.repository.id, fingerprint=fix.fingerprint)
        )
        or ()
    )
    if all(row.key != fix.key for row in known):
        await _quietly(services.registry.offer(fix))
        return

    def reset(row: OfferedFix) -> OfferedFix:
        return fix if row.state is FixState.OPEN and not row.taken_over else row

    await _quietly(services.registry.revise(fix.key, reset))


async def propose(story: Story, services: PublishServices) -> Proposal | None:
    """Record a change that was only shown, so that a person can take it with a command."""
    request = story.context.request
    if (
        services.registry is None
        or request.repository is None
        or request.head_sha is None
        or story.delivered
        or story.is_improvement
    ):
        return None
    changes = changes_shown(story)
    asks = story.outcome is Outcome.NEEDS_HUMAN and story.context.question
    if not changes and not asks:
        return None
    proposal = Proposal(
        proposal_id=story.context.mission_id,
        repository=request.repository,
        head_sha=request.head_sha,
        head_branch=request.head_branch,
        pull_request=request.pull_request,
        question=story.context.question or "",
        changes=changes,
        at=story.context.created_at,
    )
    earlier = await _quietly(
        services.registry.proposal(request.repository.id, proposal_id=proposal.proposal_id)
    )
    # A person has already decided on it.
    if earlier is not None and earlier.decided:
        return None
    await _quietly(services.registry.propose(proposal))
    return proposal


def changes_shown(story: Story) -> tuple[ProposedChange, ...]:
    """Return the verified change, or all choices of a question, its named rival second."""
    if story.fix is None or story.outcome in _NOT_TO_BE_HAD:
        return ()
    candidate, verification = story.fix
    if story.outcome is Outcome.NEEDS_HUMAN and story.context.choices:
        return tuple(proposed(choice) for choice in story.context.choices)
    alone = Choice(
        title=candidate.title,
        diff=verification.diff,
        edits=verification.edits,
        rung=candidate.rung,
        template=candidate.template,
        explanation=candidate.explanation,
        calls=candidate.calls,
        alike=candidate.alike,
    )
    return (proposed(alone),)


def proposed(choice: Choice) -> ProposedChange:
    """Convert a choice to its stored form."""
    return ProposedChange(
        title=choice.title,
        diff=choice.diff,
        edits=choice.edits,
        patch_id=patch_id(choice.diff),
        rung=int(choice.rung),
        template=choice.template,
        explanation=choice.explanation,
        calls=choice.calls,
        alike=choice.alike,
    )


async def _quietly(asked: Awaitable[Answer]) -> Answer | None:
    """Return the registry's answer, or None if it fails: it must not prevent a report."""
    try:
        return await asked
    except StoreError as error:
        log.warning("registry call failed: %s; %s", error.message, error.advice)
        return None
