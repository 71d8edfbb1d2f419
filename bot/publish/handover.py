"""Hand a verified fix over the way the policy wants it: pull request, commit, suggestions, or words only."""

from bot.domain.mission import Outcome
from bot.domain.registry import OfferedFix
from bot.domain.request import RepositoryRef
from bot.errors import Conflict, NotPermitted
from bot.policy.rules import delivery_for, forbidden
from bot.publish.branch import branch_commit, trailers
from bot.publish.comment import is_fork
from bot.publish.offer import Offer, Way
from bot.publish.places import Places
from bot.publish.pull_request import offer_fix
from bot.publish.remembered import is_chosen, refused_before, remember_offer
from bot.publish.report import answer
from bot.publish.story import Story, identity
from bot.publish.suggestions import suggestions_for


async def hand_over(story: Story, places: Places) -> Offer:
    """One fix, handed over once; what was handed over is remembered.

    Raises:
        GitHubError: GitHub refused, failed or could not be reached.
        StoreError: a fix that was replaced could not be remembered as such.
    """
    if story.fix is None:
        return Offer(outcome=story.outcome)
    paths = [edit.path for edit in story.fix[1].edits]
    if reasons := forbidden(story.context.policy, paths):
        return Offer(outcome=Outcome.POLICY, note="; ".join(reasons[:3]))
    if (refused := await refused_before(story, places)) is not None:
        return Offer(outcome=Outcome.DUPLICATE, note=_refused(refused), branch=refused.branch)
    offer = await _handed_over(story, places, _way(story, places, paths))
    await remember_offer(story, places, offer)
    return offer


def _refused(fix: OfferedFix) -> str:
    where = f"pull request #{fix.pull_request}" if fix.pull_request else f"commit {fix.commit[:12]}"
    return f"This very change was {fix.state.value} by a person before ({where}), so it is not offered again unasked."


def _way(story: Story, places: Places, paths: list[str]) -> Way:
    """What the policy wants, as far as it can be had here."""
    if story.fix is None:
        return "report"
    candidate, verification = story.fix
    confidence = story.confidence.value
    wanted = delivery_for(story.context.policy, rung=int(candidate.rung), paths=paths, confidence=confidence)
    if is_chosen(story) and (wanted == "report" or is_fork(story)):
        # A person takes what was only shown.
        wanted = "suggest" if is_fork(story) else "pull-request"
    if wanted == "suggest" and places.upkeep is not None and story.context.request.pull_request is not None:
        return "suggest"
    if wanted == "report" or is_fork(story):
        return "report"
    # An exit status can be faked without leaving a trace, whatever the policy says about pushing.
    doubtful = (
        not candidate.confident or candidate.warnings or verification.doubts or story.is_weak or story.is_cautious
    )
    # Straight into somebody's branch goes only what nothing speaks against.
    return "push" if wanted == "push" and places.upkeep is not None and not doubtful else "pull-request"


async def _handed_over(story: Story, places: Places, way: Way) -> Offer:
    offer = None
    if way == "suggest":
        offer = await _suggested(story, places)
    elif way == "push":
        offer = await _pushed(story, places)
    if offer is not None:
        return offer
    if is_fork(story):
        return Offer(outcome=story.outcome)
    if way == "report":
        return Offer(outcome=story.outcome, note="The fix is verified and only shown: the policy wants it so.")
    return await offer_fix(story, places)


async def _suggested(story: Story, places: Places) -> Offer | None:
    """One review with suggestions; None when the change does not fit into the pull request's diff."""
    request, upkeep = story.context.request, places.upkeep
    if story.fix is None or upkeep is None or request.repository is None or request.pull_request is None:
        return None
    number, sha = request.pull_request, request.head_sha
    files = await upkeep.pull_request_files(request.repository, number)
    suggestions = suggestions_for(story.fix[1].diff, files)
    if not suggestions or sha is None:
        return None
    pull = await places.github.pull_request(request.repository, number)
    if pull is None or pull.state != "open" or pull.head_sha != sha:
        return Offer(outcome=Outcome.STALE, note="The pull request moved on while we worked; nothing was suggested.")
    told = story.with_(delivered="The change stands below, as suggestions: accept them, and it is made.")
    review = await upkeep.suggest(request.repository, number, head_sha=sha, body=answer(told), suggestions=suggestions)
    return Offer(outcome=story.outcome, way="suggest", branch=request.head_branch, review=review)


async def _pushed(story: Story, places: Places) -> Offer | None:
    """One commit on the red branch itself; None when the branch does not take it."""
    request, upkeep = story.context.request, places.upkeep
    if story.fix is None or upkeep is None or request.repository is None or request.head_branch is None:
        return None
    repository, branch = request.repository, request.head_branch
    if (done := await _pushed_before(story, places, repository, branch)) is not None:
        return done
    rules = await upkeep.branch_rules(repository, branch)
    if rules.needs_pull_request or rules.no_update:
        return None
    candidate, verification = story.fix
    commit = branch_commit(story.context, branch, candidate, pen=story.pen)
    try:
        sha = await upkeep.commit_on_branch(repository, commit, verification.edits)
    except NotPermitted:
        return None
    except Conflict:
        note = "The branch moved while we worked; nothing was pushed."
        return await _pushed_before(story, places, repository, branch) or Offer(outcome=Outcome.STALE, note=note)
    return Offer(outcome=story.outcome, way="push", branch=branch, commit=sha)


async def _pushed_before(story: Story, places: Places, repository: RepositoryRef, branch: str) -> Offer | None:
    """What the branch's head means: our own commit, pushed in a run whose answer was lost, or somebody else's."""
    head = await places.github.branch_head(repository, branch)
    if head == story.context.request.head_sha:
        return None
    if head is not None:
        commit = await places.github.commit(repository, head)
        if trailers(commit.message).get("MetaAgent-Mission") == identity(story.context.mission_id):
            return Offer(outcome=story.outcome, way="push", branch=branch, commit=head)
    where = f"to {head[:12]}" if head else "away: the branch is gone"
    return Offer(outcome=Outcome.STALE, note=f"The branch moved {where} while we worked; nothing was pushed.")
