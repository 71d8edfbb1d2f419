"""Open or update the pull request into the failing branch; at most one per failure."""

import logging
from collections.abc import Sequence

from bot.domain.github import PullRequestState
from bot.domain.mission import Outcome
from bot.domain.registry import FixState
from bot.domain.request import RepositoryRef
from bot.errors import Conflict, GitHubError
from bot.ports import GitHub
from bot.publish.branch import branch_commit, branch_names, trailers
from bot.publish.fix_records import ended_by_us, is_asked
from bot.publish.offer import Offer
from bot.publish.overview import with_ticks
from bot.publish.regression_test import with_test
from bot.publish.report import mission_report
from bot.publish.retire import retire
from bot.publish.services import PublishServices
from bot.publish.story import Story, identity, marker, patch_marker
from bot.publish.title import fix_title

log = logging.getLogger(__name__)


async def offer_fix(story: Story, services: PublishServices) -> Offer:
    """Create a branch with one commit and a pull request into the failing branch.

    Everything is looked up before it is created, so that an interrupted step can run again.

    Raises:
        GitHubError: GitHub rejected the call, failed or could not be reached.
        StoreError: Replacing an earlier fix could not be recorded.
    """
    request, github = story.context.request, services.github
    if request.repository is None or request.head_sha is None or request.head_branch is None:
        return Offer(
            outcome=story.outcome,
            note="The branch of the failing commit is unknown, so nothing was pushed.",
        )
    repository = request.repository
    older: list[PullRequestState] = []
    for name in branch_names(story.context, services.branch_prefix):
        existing = await github.pull_requests_from(repository, name)
        offer = await _match_existing(story, services, existing)
        if offer is None and existing:
            # Either a finished fix still uses the name, or an open fix for an older commit is
            # replaced.
            older += [
                pull
                for pull in existing
                if pull.state == "open" and pull.base_ref == services.target_branch(request)
            ]
            continue
        offer = offer or await _new(story, services, name, replaces=len(older))
        if offer is not None:
            await _replace(story, services, older, offer)
            return await with_test(story, services, offer)
    first = branch_names(story.context, services.branch_prefix)[0]
    return Offer(
        outcome=story.outcome,
        note=f"Branches of earlier fixes use all names: delete {first} and similar branches.",
    )


async def _match_existing(
    story: Story, services: PublishServices, existing: Sequence[PullRequestState]
) -> Offer | None:
    """Decide what existing pull requests of a branch mean; None if none blocks a new one."""
    for found in existing:
        if found.author in services.ours and marker(story.context) in found.body:
            return await _refresh(story, services, found)
        if found.base_ref != services.target_branch(story.context.request):
            continue
        offer = await (
            _handle_open_fix(story, services, found)
            if found.state == "open"
            else _handle_ended_fix(story, services, found)
        )
        if offer is not None:
            return offer
    return None


async def _handle_open_fix(
    story: Story, services: PublishServices, found: PullRequestState
) -> Offer | None:
    """Handle an open fix of the same failure; return None if ours replaces it."""
    request, name = story.context.request, found.url or f"#{found.number}"
    live = Offer(
        outcome=Outcome.DUPLICATE,
        note=f"A fix for this failure is already open: {name}",
        branch=found.head_ref,
        pull_request=found,
    )
    if request.repository is None or found.author not in services.ours:
        return live
    head = await services.github.commit(request.repository, found.head_sha)
    # A head commit without our trailer was pushed by a person.
    if "MetaAgent-Mission" not in trailers(head.message):
        return live.with_(
            note=f"A person has taken over the open fix, so MetaAgent leaves it alone: {name}"
        )
    if request.head_sha in head.parents:
        return live
    if moved := await _check_branch(story, services.github):
        return moved
    if patch_marker(story) in found.body:
        # The open change for an older commit also fixes this one: update that pull request.
        return await _refresh(story, services, found)
    return None


async def _handle_ended_fix(
    story: Story, services: PublishServices, found: PullRequestState
) -> Offer | None:
    """Handle a fix that was merged and reverted, or closed: a person has decided on this patch."""
    repository = story.context.request.repository
    if (
        found.author not in services.ours
        or patch_marker(story) not in found.body
        or is_asked(story)
    ):
        return None
    if repository is not None and await ended_by_us(services, repository.id, found.number):
        return None
    name = found.url or f"#{found.number}"
    note = (
        f"This fix was offered before and is closed, "
        f"so MetaAgent does not offer it again unless asked: {name}"
    )
    return Offer(outcome=Outcome.DUPLICATE, note=note, branch=found.head_ref, pull_request=found)


async def _check_branch(story: Story, github: GitHub) -> Offer | None:
    """Return a STALE offer if the branch moved during the mission."""
    request = story.context.request
    if request.repository is None or request.head_branch is None:
        return None
    head = await github.branch_head(request.repository, request.head_branch)
    if head == request.head_sha:
        return None
    where = f"moved to {head[:12]}" if head else "was deleted"
    return Offer(
        outcome=Outcome.STALE, note=f"The branch {where} during the mission; nothing was pushed."
    )


async def _refresh(story: Story, services: PublishServices, found: PullRequestState) -> Offer:
    """Update the text of our own pull request; its ticked boxes are kept."""
    repository = story.context.request.repository
    body = with_ticks(mission_report(story, offered=True), found.body)
    if repository is not None and found.state == "open":
        if found.body != body:
            await services.github.update_pull_request(repository, found.number, body=body)
        if marker(story.context) in found.body:
            # Our process may have died before labelling. For an earlier mission, reviewers are not
            # asked again.
            await _add_labels_and_reviewers(story, services, repository, found.number)
    return Offer(
        outcome=story.outcome,
        way="pull-request",
        branch=found.head_ref,
        commit=found.head_sha,
        pull_request=found,
    )


async def _new(
    story: Story, services: PublishServices, name: str, *, replaces: int
) -> Offer | None:
    """Create commit and pull request under this name; return None if the name is already used."""
    repository, github = story.context.request.repository, services.github
    if story.fix is None or repository is None:
        return None
    if moved := await _check_branch(story, github):
        return moved
    if full := await _check_limit(story, services, repository, replaces):
        return full
    candidate, verification = story.fix
    commit = branch_commit(story.context, name, candidate, pen=story.pen)
    try:
        sha = await github.commit_on_new_branch(repository, commit, verification.edits)
    except Conflict:
        if not await _being_published(story, github, repository, name):
            return None
        note = f"Another mission is publishing a fix for this failure on the branch {name}."
        return Offer(outcome=Outcome.DUPLICATE, note=note, branch=name)
    return await _open(story, services, repository, name=name, sha=sha)


async def _check_limit(
    story: Story, services: PublishServices, repository: RepositoryRef, replaces: int
) -> Offer | None:
    """Return an offer without pull request if the repository's limit is reached.

    A person's request is exempt from the limit.
    """
    if is_asked(story):
        return None
    most = story.context.policy.limits.open_pull_requests
    pulls = await services.github.open_pull_requests(repository)
    ours = [
        pull
        for pull in pulls
        if pull.author in services.ours and pull.head_ref.startswith(services.branch_prefix)
    ]
    if len(ours) - replaces < most:
        return None
    note = (
        f"The fix is verified but only shown here: "
        f"the limit of {most} open pull requests by MetaAgent is reached."
    )
    return Offer(outcome=story.outcome, note=note)


async def _replace(
    story: Story, services: PublishServices, older: Sequence[PullRequestState], offer: Offer
) -> None:
    """Close open fixes of the same failure for older commits."""
    repository, new = story.context.request.repository, offer.pull_request
    if not offer.delivered or repository is None or new is None:
        return
    cause = "The file changed" if story.is_improvement else "A newer commit has the same failure"
    why = (
        f"{cause} and needs another change: "
        f"{new.url or f'#{new.number}'} replaces this pull request."
    )
    for pull in older:
        if pull.number != new.number:
            await retire(
                repository,
                pull,
                (FixState.SUPERSEDED, why),
                github=services.github,
                registry=services.registry,
            )


async def _add_labels_and_reviewers(
    story: Story, services: PublishServices, repository: RepositoryRef, number: int
) -> None:
    """Add the policy's labels and reviewers; a permanent rejection by GitHub is only logged."""
    policy = story.context.policy
    try:
        if policy.labels:
            await services.github.add_labels(repository, number, policy.labels)
        if policy.reviewers:
            await services.github.request_reviewers(repository, number, policy.reviewers)
    except GitHubError as error:
        if error.retryable:
            raise
        log.warning(
            "adding labels or reviewers failed: %s",
            error.message,
            extra={"mission": story.context.mission_id},
        )


async def _being_published(
    story: Story, github: GitHub, repository: RepositoryRef, name: str
) -> bool:
    """Return True if another mission is publishing a fix of the same commit on this branch."""
    head = await github.branch_head(repository, name)
    if head is None:
        return False
    commit = await github.commit(repository, head)
    mission = trailers(commit.message).get("MetaAgent-Mission")
    same_commit = story.context.request.head_sha in commit.parents
    return same_commit and mission is not None and mission != identity(story.context.mission_id)


async def _open(
    story: Story, services: PublishServices, repository: RepositoryRef, *, name: str, sha: str
) -> Offer:
    github = services.github
    base = services.target_branch(story.context.request)
    try:
        pull_request = await github.open_pull_request(
            repository,
            head=name,
            base=base or repository.default_branch,
            title=fix_title(story.context, pen=story.pen),
            body=mission_report(story, offered=True),
            draft=story.context.policy.draft or story.is_weak or story.is_cautious,
        )
    except Conflict:
        # Opened between lookup and call, by a run of ours that was interrupted.
        found = await github.pull_requests_from(repository, name)
        if not found:
            raise
        pull_request = found[0]
    await _add_labels_and_reviewers(story, services, repository, pull_request.number)
    return Offer(
        outcome=story.outcome,
        way="pull-request",
        branch=name,
        commit=sha,
        pull_request=pull_request,
    )
