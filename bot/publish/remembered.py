"""What is remembered of fixes: refused ones, offered ones, and what was shown for a person to decide."""

import logging
from collections.abc import Awaitable
from typing import TypeVar

from bot.domain.mission import Outcome
from bot.domain.patch import Choice
from bot.domain.registry import FixState, OfferedFix, Proposal, ProposedChange
from bot.domain.request import Trigger
from bot.errors import StoreError
from bot.publish.offer import Offer
from bot.publish.places import Places
from bot.publish.story import Story, patch_id

Answer = TypeVar("Answer")

_NOT_TO_BE_HAD = frozenset({Outcome.STALE, Outcome.DUPLICATE, Outcome.CANCELLED, Outcome.POLICY})
"""Outcomes whose change would meet the same refusal again."""

log = logging.getLogger(__name__)


async def refused_before(story: Story, places: Places) -> OfferedFix | None:
    """This very change as a person closed or undid it; nobody is asked when a person wants the fix now."""
    request = story.context.request
    if places.registry is None or request.repository is None or story.fix is None or is_asked(story):
        return None
    found = await _quietly(places.registry.is_blocked(request.repository.id, patch_id(story.fix[1].diff)))
    return found if found is not None and found.mission_id != story.context.mission_id else None


def is_asked(story: Story) -> bool:
    """Whether a person asked for this mission."""
    return story.context.request.trigger is Trigger.COMMENT


def is_chosen(story: Story) -> bool:
    """Whether a person took this very change when it was shown."""
    answer = story.context.request.answer
    return answer is not None and answer.choice is not None


async def ended_by_us(places: Places, repository_id: int, number: int) -> bool:
    """Whether a closed pull request was closed by ourselves: nobody refused what it offered."""
    if places.registry is None:
        return False
    rows = await _quietly(places.registry.offered(repository_id, pull_request=number)) or ()
    return any(row.state in {FixState.SUPERSEDED, FixState.EXPIRED} for row in rows)


async def open_elsewhere(story: Story, places: Places) -> str:
    """Where a fix for an older commit of the red branch waits, in our own words; empty when none does."""
    request = story.context.request
    if places.registry is None or request.repository is None:
        return ""
    fixes = await _quietly(places.registry.offered(request.repository.id, state=FixState.OPEN)) or ()
    ours = [fix for fix in fixes if fix.pull_request is not None and fix.base_branch == request.head_branch]
    return f"A fix for this branch is open already: pull request #{ours[0].pull_request}." if ours else ""


async def remember_offer(story: Story, places: Places, offer: Offer) -> None:
    """Write down what was offered; what people decided since stays as they decided it."""
    request = story.context.request
    if places.registry is None or request.repository is None or request.head_sha is None or story.fix is None:
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
    known = await _quietly(places.registry.offered(request.repository.id, fingerprint=fix.fingerprint)) or ()
    if all(row.key != fix.key for row in known):
        await _quietly(places.registry.offer(fix))
        return

    def anew(row: OfferedFix) -> OfferedFix:
        return fix if row.state is FixState.OPEN and not row.taken_over else row

    await _quietly(places.registry.revise(fix.key, anew))


async def propose(story: Story, places: Places) -> Proposal | None:
    """Keep what was shown and not handed over, so that a person can take it with a word."""
    request = story.context.request
    if places.registry is None or request.repository is None or request.head_sha is None or story.delivered:
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
    earlier = await _quietly(places.registry.proposal(request.repository.id, proposal_id=proposal.proposal_id))
    if earlier is not None and earlier.decided:
        return None
    await _quietly(places.registry.propose(proposal))
    return proposal


def changes_shown(story: Story) -> tuple[ProposedChange, ...]:
    """Return the verified change; with a question all its choices, the rival the question names second."""
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
    )
    return (proposed(alone),)


def proposed(choice: Choice) -> ProposedChange:
    """Return a choice as it is kept until a person decides."""
    return ProposedChange(
        title=choice.title,
        diff=choice.diff,
        edits=choice.edits,
        patch_id=patch_id(choice.diff),
        rung=int(choice.rung),
        template=choice.template,
        explanation=choice.explanation,
    )


async def _quietly(asked: Awaitable[Answer]) -> Answer | None:
    """An answer of the registry; what was found out is told to people also when the registry is broken."""
    try:
        return await asked
    except StoreError as error:
        log.warning("%s; %s", error.message, error.advice)
        return None
