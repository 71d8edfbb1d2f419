"""Open or refresh the pull request: into the red branch, at most one live one per failure."""

from collections.abc import Sequence

from bot.domain.github import PullRequestState
from bot.domain.mission import Outcome
from bot.domain.request import RepositoryRef, Trigger
from bot.errors import Conflict
from bot.ports import GitHub
from bot.publish.branch import branch_commit, branch_names, trailers
from bot.publish.places import Places
from bot.publish.report import mission_report
from bot.publish.story import Story, identity, marker, patch_marker
from bot.publish.title import fix_title
from sandbox.types import Frozen


class Offer(Frozen):
    """What became of offering a fix."""

    outcome: Outcome
    """FIXED when a pull request stands, else STALE or DUPLICATE, or FIXED with a note when nothing could be opened."""
    note: str = ""
    branch: str | None = None
    commit: str | None = None
    pull_request: PullRequestState | None = None


async def offer_fix(story: Story, places: Places) -> Offer:
    """One commit on a new branch, one pull request into the red branch.

    Everything is looked up before it is made, so that a step that ran but was not remembered can run again.

    Raises:
        GitHubError: GitHub refused, failed or could not be reached.
    """
    request, github = story.context.request, places.github
    if request.repository is None or request.head_sha is None or request.head_branch is None:
        return Offer(
            outcome=story.outcome, note="The branch of the failing commit is not known, so nothing was pushed."
        )
    repository = request.repository
    for name in branch_names(story.context):
        existing = await github.pull_requests_from(repository, name)
        known = await _known(story, github, existing, ours=places.ours)
        if known is not None:
            return known
        if existing:
            continue  # an ended fix: its name is spent
        head = await github.branch_head(repository, request.head_branch)
        if head != request.head_sha:
            where = f"to {head[:12]}" if head else "away: the branch is gone"
            return Offer(outcome=Outcome.STALE, note=f"The branch moved {where} while we worked; nothing was pushed.")
        offer = await _published(story, github, repository, name)
        if offer is not None:
            return offer
    first = branch_names(story.context)[0]
    return Offer(
        outcome=story.outcome, note=f"Branches of earlier fixes stand in the way: delete {first} and the like."
    )


async def _known(
    story: Story, github: GitHub, existing: Sequence[PullRequestState], *, ours: frozenset[str]
) -> Offer | None:
    """What the pull requests from one branch mean for us; None when none stands in the way."""
    request = story.context.request
    for found in existing:
        name = found.url or f"#{found.number}"
        if found.author in ours and marker(story.context) in found.body:
            return await _refreshed(story, github, found)
        if found.base_ref != request.head_branch:
            continue
        if found.state == "open":
            note = f"A fix for this failure is open already: {name}"
            return Offer(outcome=Outcome.DUPLICATE, note=note, branch=found.head_ref, pull_request=found)
        if found.author in ours and patch_marker(story) in found.body and request.trigger is not Trigger.COMMENT:
            # Merged and undone, or closed: a person has decided about this very patch.
            note = f"This very fix was offered before and ended there, so it is not offered again unasked: {name}"
            return Offer(outcome=Outcome.DUPLICATE, note=note, branch=found.head_ref, pull_request=found)
    return None


async def _refreshed(story: Story, github: GitHub, found: PullRequestState) -> Offer:
    """Our own pull request of this very mission: once it is there it stays, its words are brought up to date."""
    repository, body = story.context.request.repository, mission_report(story)
    if repository is not None and found.state == "open" and found.body != body:
        await github.update_pull_request(repository, found.number, body=body)
    return Offer(outcome=story.outcome, branch=found.head_ref, commit=found.head_sha, pull_request=found)


async def _published(story: Story, github: GitHub, repository: RepositoryRef, name: str) -> Offer | None:
    """Commit and pull request under this name; None when the name turns out to be taken by something dead."""
    if story.fix is None:
        return None
    candidate, verification = story.fix
    commit = branch_commit(story.context, name, candidate, pen=story.pen)
    try:
        sha = await github.commit_on_new_branch(repository, commit, verification.edits)
    except Conflict:
        if not await _being_published(story, github, repository, name):
            return None
        note = f"Another mission is publishing a fix for this failure on the branch {name}."
        return Offer(outcome=Outcome.DUPLICATE, note=note, branch=name)
    return await _opened(story, github, repository, name=name, sha=sha)


async def _being_published(story: Story, github: GitHub, repository: RepositoryRef, name: str) -> bool:
    """Whether the branch holds another mission's fix of the same red commit (its pull request is about to come)."""
    head = await github.branch_head(repository, name)
    if head is None:
        return False
    commit = await github.commit(repository, head)
    mission = trailers(commit.message).get("MetaAgent-Mission")
    same_commit = story.context.request.head_sha in commit.parents
    return same_commit and mission is not None and mission != identity(story.context.mission_id)


async def _opened(story: Story, github: GitHub, repository: RepositoryRef, *, name: str, sha: str) -> Offer:
    base = story.context.request.head_branch
    try:
        pull_request = await github.open_pull_request(
            repository,
            head=name,
            base=base or repository.default_branch,
            title=fix_title(story.context, pen=story.pen),
            body=mission_report(story),
            draft=story.context.policy.draft,
        )
    except Conflict:
        # Opened between our look and our call: by ourselves, in a run whose answer was lost.
        found = await github.pull_requests_from(repository, name)
        if not found:
            raise
        pull_request = found[0]
    return Offer(outcome=story.outcome, branch=name, commit=sha, pull_request=pull_request)
