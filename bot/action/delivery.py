"""Deliver the outcome of a step: report, patch, and what may be written on GitHub."""

from dataclasses import replace

from bot.action.carry_over import carry_over
from bot.action.report import write_report
from bot.action.rights import why_nothing_is_written
from bot.action.runner_files import Done
from bot.action.step import Step, describe_error
from bot.domain.evidence import KeptEvidence
from bot.domain.mission import MissionContext, Outcome
from bot.domain.policy import RepositoryPolicy
from bot.domain.publication import Publication
from bot.errors import GitHubError, UsageError
from bot.github.staged import Notebook, stage
from bot.lessons.calibration import confidence_by_rules
from bot.policy.policy_file import load_policy
from bot.publish.publisher import publish_outcome
from bot.publish.services import PublishServices
from bot.publish.story import Story, build_story
from bot.wiring.github import ActionGitHub
from sandbox.errors import SandboxError

NO_CHECKS = (
    "It was written with the workflow's own token, so GitHub starts no checks on it by itself: "
    "approve them in the "
    "pull request, or close and reopen it, or give `github-token` the token of an App."
)


NO_PUSH = (
    "With `from-report` a fix is never pushed straight onto the red branch: a pull request takes "
    "its place."
)
NO_POLICY = "The policy was not read, because there is no token: the defaults count."
NO_MODEL = (
    "No model was asked: it has no key, for to such a run GitHub gives none of the repository's "
    "secrets."
)


async def deliver(step: Step, context: MissionContext, kept: KeptEvidence) -> Done:
    """Write the report, and on GitHub what is allowed."""
    confidence = confidence_by_rules(context)
    story = build_story(context, confidence=confidence, secrets=step.secrets, bundle=kept)
    done = Done(
        story, Publication(mission_id=context.mission_id, outcome=story.outcome), step.project
    )
    if step.inputs.model is not None and step.settings.model is None:
        done = done.noting(NO_MODEL)
    if step.github is None and step.event.repository is not None:
        done = done.noting(NO_POLICY)
    if step.inputs.delivery != step.inputs.mode:
        done = done.noting(NO_PUSH)
    why_not = await why_nothing_is_written(step.inputs, step.event, step.github)
    if why_not is None and step.github is not None:
        done = await _publish(step, step.github, done)
    elif why_not:
        done = done.noting(why_not)
    write_report(step.folder, context, done.summary)
    return done


async def _publish(step: Step, github: ActionGitHub, done: Done) -> Done:
    """Write the outcome on GitHub; errors leave report and patch unchanged."""
    try:
        context = await _move_to_commit(step, github, done.story.context)
        if not context.policy.enabled:
            return done.noting(
                "Nothing was written: the policy of the default branch switches us off."
            )
        story = done.story.with_(context=context)
        services = PublishServices(
            github=github,
            app_slug=await github.app_slug(),
            branch_prefix=step.inputs.branch_prefix,
            base_branch=step.inputs.base_branch,
        )
        if step.inputs.dry_run or context.policy.mode == "staged":
            return await _rehearse(done, story, services)
        publication = await publish_outcome(story, services)
    except (GitHubError, SandboxError) as error:
        return done.noting(f"Nothing was written on GitHub: {describe_error(error)}.")
    # GitHub starts no workflows for pushes that are made with a workflow's own token.
    pushed = publication.commit is not None and publication.outcome is Outcome.FIXED
    warning = NO_CHECKS if pushed and step.own_token else ""
    told = story.with_(outcome=publication.outcome or story.outcome)
    done = replace(done, story=told, publication=publication, warning=warning)
    return done.noting(publication.skipped or "", warning)


async def _rehearse(done: Done, story: Story, services: PublishServices) -> Done:
    """Describe all writes without making them."""
    notebook = Notebook()
    told = await publish_outcome(story, replace(services, github=stage(services.github, notebook)))
    writes = (f"Would be written: {one.what}" for one in notebook.writes)
    return done.noting("Dry run: nothing was written on GitHub.", *writes, told.skipped or "")


async def _move_to_commit(
    step: Step, github: ActionGitHub, context: MissionContext
) -> MissionContext:
    """Return the mission as one of the repository.

    Its subject comes from the event and its limits from the repository's policy.
    """
    request = step.request()
    repository, sha = request.repository, request.head_sha
    if repository is None or sha is None:
        raise UsageError("the commit is not known")
    policy: RepositoryPolicy = step.inputs.policy(await load_policy(repository, github))
    moved = context.with_(request=request, mission_id=request.mission_id, policy=policy)
    # The mission ran on this very commit, so there is nothing to convert.
    if step.is_remote and step.inputs.from_report is None:
        return moved

    async def read(path: str) -> bytes | None:
        return await github.read_file(repository, path, sha)

    # The folder comes from the workflow, not from the job that made the patch.
    is_own = step.inputs.from_report is None
    return await carry_over(moved, read, folder=step.project, is_own=is_own)
