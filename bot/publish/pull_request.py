"""Open or refresh the pull request: into the red branch, at most one live one per failure."""

import logging
from collections.abc import Sequence

from bot.domain.github import PullRequestState
from bot.domain.mission import Outcome
from bot.domain.registry import FixState
from bot.domain.request import RepositoryRef
from bot.errors import Conflict, GitHubError
from bot.ports import GitHub
from bot.publish.branch import branch_commit, branch_names, trailers
from bot.publish.offer import Offer
from bot.publish.picture import with_ticks
from bot.publish.places import Places
from bot.publish.remembered import ended_by_us, is_asked
from bot.publish.report import mission_report
from bot.publish.retire import retire
from bot.publish.story import Story, identity, marker, patch_marker
from bot.publish.title import fix_title

log = logging.getLogger(__name__)


async def offer_fix(story: Story, places: Places) -> Offer:
    """One commit on a new branch, one pull request into the red branch.

    Everything is looked up before it is made, so that a step that ran but was not remembered can run again.

    Raises:
        GitHubError: GitHub refused, failed or could not be reached.
        StoreError: a fix that was replaced could not be remembered as such.
    """
    request, github = story.context.request, places.github
    if request.repository is None or request.head_sha is None or request.head_branch is None:
        return Offer(
            outcome=story.outcome, note="The branch of the failing commit is not known, so nothing was pushed."
        )
    repository = request.repository
    older: list[PullRequestState] = []
    for name in branch_names(story.context, places.branch_prefix):
        existing = await github.pull_requests_from(repository, name)
        offer = await _known(story, places, existing)
        if offer is None and existing:
            # An ended fix, whose name is spent, or an open one for an older commit that this one replaces.
            older += [pull for pull in existing if pull.state == "open" and pull.base_ref == places.base_of(request)]
            continue
        offer = offer or await _new(story, places, name, replaces=len(older))
        if offer is not None:
            await _replace(story, places, older, offer)
            return offer
    first = branch_names(story.context, places.branch_prefix)[0]
    return Offer(
        outcome=story.outcome, note=f"Branches of earlier fixes stand in the way: delete {first} and the like."
    )


async def _known(story: Story, places: Places, existing: Sequence[PullRequestState]) -> Offer | None:
    """What the pull requests from one branch mean for us; None when none stands in the way."""
    for found in existing:
        if found.author in places.ours and marker(story.context) in found.body:
            return await _refreshed(story, places, found)
        if found.base_ref != places.base_of(story.context.request):
            continue
        offer = await (_beside(story, places, found) if found.state == "open" else _after(story, places, found))
        if offer is not None:
            return offer
    return None


async def _beside(story: Story, places: Places, found: PullRequestState) -> Offer | None:
    """An open fix of the same failure; None when ours takes its place."""
    request, name = story.context.request, found.url or f"#{found.number}"
    live = Offer(
        outcome=Outcome.DUPLICATE,
        note=f"A fix for this failure is open already: {name}",
        branch=found.head_ref,
        pull_request=found,
    )
    if request.repository is None or places.upkeep is None or found.author not in places.ours:
        return live
    head = await places.github.commit(request.repository, found.head_sha)
    if "MetaAgent-Mission" not in trailers(head.message):
        return live.with_(note=f"A person took the open fix over, so it is left to them: {name}")
    if request.head_sha in head.parents:
        return live
    if moved := await _moved(story, places.github):
        return moved
    if patch_marker(story) in found.body:
        # The very change that is open for an older commit holds for this one too: one pull request, told anew.
        return await _refreshed(story, places, found)
    return None


async def _after(story: Story, places: Places, found: PullRequestState) -> Offer | None:
    """A fix that ended: merged and undone, or closed. A person has decided about this very patch."""
    repository = story.context.request.repository
    if found.author not in places.ours or patch_marker(story) not in found.body or is_asked(story):
        return None
    if repository is not None and await ended_by_us(places, repository.id, found.number):
        return None
    name = found.url or f"#{found.number}"
    note = f"This very fix was offered before and ended there, so it is not offered again unasked: {name}"
    return Offer(outcome=Outcome.DUPLICATE, note=note, branch=found.head_ref, pull_request=found)


async def _moved(story: Story, github: GitHub) -> Offer | None:
    """Nothing is offered on a branch that moved while we worked."""
    request = story.context.request
    if request.repository is None or request.head_branch is None:
        return None
    head = await github.branch_head(request.repository, request.head_branch)
    if head == request.head_sha:
        return None
    where = f"to {head[:12]}" if head else "away: the branch is gone"
    return Offer(outcome=Outcome.STALE, note=f"The branch moved {where} while we worked; nothing was pushed.")


async def _refreshed(story: Story, places: Places, found: PullRequestState) -> Offer:
    """Our own pull request: once it is there it stays, its words are brought up to date, its ticks are kept."""
    repository = story.context.request.repository
    body = with_ticks(mission_report(story, offered=True), found.body)
    if repository is not None and found.state == "open":
        if found.body != body:
            await places.github.update_pull_request(repository, found.number, body=body)
        if marker(story.context) in found.body:
            # Ours may have died before this. Of an earlier mission's, reviewers are not asked once more.
            await _dress(story, places, repository, found.number)
    return Offer(
        outcome=story.outcome, way="pull-request", branch=found.head_ref, commit=found.head_sha, pull_request=found
    )


async def _new(story: Story, places: Places, name: str, *, replaces: int) -> Offer | None:
    """Commit and pull request under this name; None when the name turns out to be taken by something dead."""
    repository, github = story.context.request.repository, places.github
    if story.fix is None or repository is None:
        return None
    if moved := await _moved(story, github):
        return moved
    if full := await _full(story, places, repository, replaces):
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
    return await _opened(story, places, repository, name=name, sha=sha)


async def _full(story: Story, places: Places, repository: RepositoryRef, replaces: int) -> Offer | None:
    """As many pull requests of ours are open as the repository wants; who asks for one gets it all the same."""
    if places.upkeep is None or is_asked(story):
        return None
    most = story.context.policy.limits.open_pull_requests
    pulls = await places.upkeep.open_pull_requests(repository)
    ours = [pull for pull in pulls if pull.author in places.ours and pull.head_ref.startswith(places.branch_prefix)]
    if len(ours) - replaces < most:
        return None
    note = f"The fix is verified, and shown here: no more than {most} pull requests of ours may be open at a time."
    return Offer(outcome=story.outcome, note=note)


async def _replace(story: Story, places: Places, older: Sequence[PullRequestState], offer: Offer) -> None:
    """Open fixes of the same failure for older commits make room for the new one."""
    repository, new = story.context.request.repository, offer.pull_request
    if not offer.delivered or repository is None or new is None or places.upkeep is None:
        return
    why = f"A newer commit fails alike and needs another change: {new.url or f'#{new.number}'} takes the place of this."
    for pull in older:
        if pull.number != new.number:
            await retire(
                repository,
                pull,
                (FixState.SUPERSEDED, why),
                github=places.github,
                upkeep=places.upkeep,
                registry=places.registry,
            )


async def _dress(story: Story, places: Places, repository: RepositoryRef, number: int) -> None:
    """Labels and reviewers, as the policy wants them; what GitHub refuses costs only them."""
    policy = story.context.policy
    if places.upkeep is None:
        return
    try:
        if policy.labels:
            await places.upkeep.add_labels(repository, number, policy.labels)
        if policy.reviewers:
            await places.upkeep.request_reviewers(repository, number, policy.reviewers)
    except GitHubError as error:
        if error.retryable:
            raise
        log.warning("labels or reviewers: %s", error.message, extra={"mission": story.context.mission_id})


async def _being_published(story: Story, github: GitHub, repository: RepositoryRef, name: str) -> bool:
    """Whether the branch holds another mission's fix of the same red commit (its pull request is about to come)."""
    head = await github.branch_head(repository, name)
    if head is None:
        return False
    commit = await github.commit(repository, head)
    mission = trailers(commit.message).get("MetaAgent-Mission")
    same_commit = story.context.request.head_sha in commit.parents
    return same_commit and mission is not None and mission != identity(story.context.mission_id)


async def _opened(story: Story, places: Places, repository: RepositoryRef, *, name: str, sha: str) -> Offer:
    github = places.github
    base = places.base_of(story.context.request)
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
        # Opened between our look and our call: by ourselves, in a run whose answer was lost.
        found = await github.pull_requests_from(repository, name)
        if not found:
            raise
        pull_request = found[0]
    await _dress(story, places, repository, pull_request.number)
    return Offer(outcome=story.outcome, way="pull-request", branch=name, commit=sha, pull_request=pull_request)
