"""Deliver a verified fix as the policy requires: pull request, commit, suggestions or report."""

from bot.domain.mission import Outcome
from bot.domain.registry import OfferedFix
from bot.domain.request import RepositoryRef
from bot.errors import Conflict, NotPermitted
from bot.policy.rules import delivery_for, path_refusals
from bot.publish.branch import branch_commit, trailers
from bot.publish.comment import is_fork
from bot.publish.fix_records import is_chosen, refused_before, remember_offer
from bot.publish.offer import Offer, Way
from bot.publish.pull_request import offer_fix
from bot.publish.report import answer
from bot.publish.services import PublishServices
from bot.publish.story import Story, identity
from bot.publish.suggestions import suggestions_for


async def hand_over(story: Story, services: PublishServices) -> Offer:
    """Deliver one fix and record it.

    Raises:
        GitHubError: GitHub rejected the call, failed or could not be reached.
        StoreError: Replacing an earlier fix could not be recorded.
    """
    if story.fix is None:
        return Offer(outcome=story.outcome)
    paths = [edit.path for edit in story.fix[1].edits]
    if reasons := path_refusals(story.context.policy, paths):
        return Offer(outcome=Outcome.POLICY, note="; ".join(reasons[:3]))
    if (refused := await refused_before(story, services)) is not None:
        return Offer(
            outcome=Outcome.DUPLICATE, note=_describe_rejection(refused), branch=refused.branch
        )
    offer = await _deliver(story, services, _way(story, paths))
    await remember_offer(story, services, offer)
    return offer


def _describe_rejection(fix: OfferedFix) -> str:
    where = f"pull request #{fix.pull_request}" if fix.pull_request else f"commit {fix.commit[:12]}"
    return (
        f"A person has already {fix.state.value} this change ({where}), "
        "so MetaAgent does not offer it again unless asked."
    )


def _way(story: Story, paths: list[str]) -> Way:
    """Return the delivery that the policy requires and the mission supports."""
    if story.fix is None:
        return "report"
    candidate, verification = story.fix
    confidence = story.confidence.value
    wanted = delivery_for(
        story.context.policy, rung=int(candidate.rung), paths=paths, confidence=confidence
    )
    if story.is_improvement:
        # Nothing is red, so nothing is urgent enough to skip a review.
        return "report" if wanted == "report" else "pull-request"
    if is_chosen(story) and (wanted == "report" or is_fork(story)):
        # A person chose a change that was only shown.
        wanted = "suggest" if is_fork(story) else "pull-request"
    if wanted == "suggest" and story.context.request.pull_request is not None:
        return "suggest"
    if wanted == "report" or is_fork(story):
        return "report"
    # An exit status alone can be faked without a trace, so such a fix is never pushed directly.
    doubtful = (
        not candidate.confident
        or candidate.warnings
        or verification.doubts
        or story.is_weak
        or story.is_cautious
    )
    # Only a fix without any doubt is pushed directly to a person's branch.
    return "push" if wanted == "push" and not doubtful else "pull-request"


async def _deliver(story: Story, services: PublishServices, way: Way) -> Offer:
    offer = None
    if way == "suggest":
        offer = await _suggest(story, services)
    elif way == "push":
        offer = await _push(story, services)
    if offer is not None:
        return offer
    if is_fork(story):
        return Offer(outcome=story.outcome)
    if way == "report":
        return Offer(
            outcome=story.outcome,
            note="The fix is verified but only shown, as the policy requires.",
        )
    return await offer_fix(story, services)


async def _suggest(story: Story, services: PublishServices) -> Offer | None:
    """Create a review with suggestions; return None if the change does not fit the diff."""
    request, github = story.context.request, services.github
    if story.fix is None or request.repository is None or request.pull_request is None:
        return None
    number, sha = request.pull_request, request.head_sha
    files = await github.pull_request_files(request.repository, number)
    suggestions = suggestions_for(story.fix[1].diff, files)
    if not suggestions or sha is None:
        return None
    pull = await github.pull_request(request.repository, number)
    if pull is None or pull.state != "open" or pull.head_sha != sha:
        return Offer(
            outcome=Outcome.STALE,
            note="The pull request changed during the mission; nothing was suggested.",
        )
    suggested = story.with_(
        delivered="The change is suggested below: accept the suggestions to apply it."
    )
    review = await github.suggest(
        request.repository, number, head_sha=sha, body=answer(suggested), suggestions=suggestions
    )
    return Offer(outcome=story.outcome, way="suggest", branch=request.head_branch, review=review)


async def _push(story: Story, services: PublishServices) -> Offer | None:
    """Push one commit to the failing branch; return None if the branch does not accept it."""
    request, github = story.context.request, services.github
    if story.fix is None or request.repository is None or request.head_branch is None:
        return None
    repository, branch = request.repository, request.head_branch
    if (done := await _find_earlier_push(story, services, repository, branch)) is not None:
        return done
    rules = await github.branch_rules(repository, branch)
    # The branch would reject a direct push.
    if rules.needs_pull_request or rules.no_update:
        return None
    candidate, verification = story.fix
    commit = branch_commit(story.context, branch, candidate, pen=story.pen)
    try:
        sha = await github.commit_on_branch(repository, commit, verification.edits)
    except NotPermitted:
        return None
    except Conflict:
        note = "The branch changed during the mission; nothing was pushed."
        return await _find_earlier_push(story, services, repository, branch) or Offer(
            outcome=Outcome.STALE, note=note
        )
    return Offer(outcome=story.outcome, way="push", branch=branch, commit=sha)


async def _find_earlier_push(
    story: Story, services: PublishServices, repository: RepositoryRef, branch: str
) -> Offer | None:
    """Check the branch's head: our own commit of an interrupted run, or another one."""
    head = await services.github.branch_head(repository, branch)
    if head == story.context.request.head_sha:
        return None
    if head is not None:
        commit = await services.github.commit(repository, head)
        if trailers(commit.message).get("MetaAgent-Mission") == identity(story.context.mission_id):
            return Offer(outcome=story.outcome, way="push", branch=branch, commit=head)
    where = f"moved to {head[:12]}" if head else "was deleted"
    return Offer(
        outcome=Outcome.STALE, note=f"The branch {where} during the mission; nothing was pushed."
    )
