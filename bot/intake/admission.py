"""What only GitHub can say, asked after the 202: write access, the head as it is now, the repository's policy."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace

from bot.domain.admission import Admission
from bot.domain.github import CheckRunState, CommitState, FailedJob, PullRequestState
from bot.domain.request import CheckRef, Depth, MissionRequest, RepositoryRef, Trigger
from bot.errors import GitHubError, NotFound, NotPermitted
from bot.intake import guards
from bot.intake.admission_rules import Facts, No, actors_of, is_bot, may_ask, not_stale, refusal
from bot.policy.policy_file import load_policy
from bot.ports import GitHub, GitHubRuns, Registry
from sandbox.types import Checkout, GitSource, JobHints, LogReading, TrustTier

log = logging.getLogger(__name__)


async def admit(
    request: MissionRequest,
    github: GitHub,
    *,
    runs: GitHubRuns | None = None,
    registry: Registry | None = None,
    own_app_slug: str = "metaagent",
    secrets: Sequence[str] = (),
) -> Admission:
    """Whether a request may become a mission, and on what.

    Args:
        request: What the payload said.
        github: Who knows the rest.
        runs: Who knows who set off the red runs; without it, what the request says of that counts.
        registry: Who knows what was begun and switched off before; without it, nothing was.
        own_app_slug: Whose checks are ours.
        secrets: Must not be seen in what is kept of a log.

    Raises:
        GitHubError: GitHub could not be asked.
        StoreError: The registry could not be asked.
    """
    repository = request.repository
    if repository is None:
        raise ValueError("only requests about a repository are admitted")
    pull = await _pull_request(request, repository, github)
    facts = Facts(_completed(request, pull), repository, pull=pull, own_login=f"{own_app_slug}[bot]")
    if facts.commanded:
        facts = await _permitted(facts, (facts.asker,), github)
        if (no := may_ask(facts)) is not None:
            return _refused(facts, no)
    facts = await _known(facts, github)
    if not (facts.commanded or facts.in_a_step):
        facts = await _before(await _set_off(facts, github, runs), registry)
    if (no := refusal(facts)) is not None:
        return _refused(facts, no)
    if facts.commanded and facts.request.check is None:
        check = await _red_check(facts.request, repository, github, own_app_slug)
        facts = replace(facts, request=facts.request.with_(check=check))
    admission = await _admission(facts, github)
    if admission.job is None:
        return admission
    return admission.with_(ci_log=await _ci_log(repository, admission.job, github, secrets))


async def _pull_request(request: MissionRequest, repository: RepositoryRef, github: GitHub) -> PullRequestState | None:
    if request.pull_request is not None:
        return await github.pull_request(repository, request.pull_request)
    if request.head_sha is None:
        return None
    found = await github.pull_requests_at(repository, request.head_sha)
    same_branch = [p for p in found if not p.from_fork and p.head_ref == request.head_branch]
    return next(iter(same_branch or [p for p in found if not p.from_fork]), None)


def _completed(request: MissionRequest, pull: PullRequestState | None) -> MissionRequest:
    """The request with what the pull request tells."""
    if pull is None:
        return request
    known = request.with_(pull_request=pull.number)
    if request.trigger is Trigger.COMMENT:
        tier = TrustTier.FORK if pull.from_fork else TrustTier.BRANCH
        known = known.with_(head_sha=pull.head_sha, head_branch=pull.head_ref, tier=tier)
    return known


async def _permitted(facts: Facts, logins: Sequence[str], github: GitHub) -> Facts:
    asked = [login for login in logins if login]
    answers = await asyncio.gather(*(github.permission(facts.repository, login) for login in asked))
    return replace(facts, permissions=dict(zip(asked, answers, strict=True)))


async def _known(facts: Facts, github: GitHub) -> Facts:
    """The policy, the commit, and where its branch stands."""
    request, repository = facts.request, facts.repository
    policy, head_now, commit = await asyncio.gather(
        load_policy(repository, github), _head_now(request, repository, github), _commit(facts, github)
    )
    facts = replace(facts, policy=policy, head_now=head_now, commit=commit)
    if not_stale(facts) is None or request.head_sha is None:
        return facts
    # A fork's branch may be called like one of ours.
    pulls = await github.pull_requests_at(repository, request.head_sha)
    return replace(facts, in_a_fork=bool(pulls) and all(pull.from_fork for pull in pulls))


async def _head_now(request: MissionRequest, repository: RepositoryRef, github: GitHub) -> str | None:
    if request.head_branch is None or request.tier is TrustTier.FORK:
        return None
    return await github.branch_head(repository, request.head_branch)


async def _commit(facts: Facts, github: GitHub) -> CommitState | None:
    if facts.request.head_sha is None or (facts.commanded and facts.pull is not None):
        return None
    try:
        return await github.commit(facts.repository, facts.request.head_sha)
    except NotFound:
        return None


async def _set_off(facts: Facts, github: GitHub, runs: GitHubRuns | None) -> Facts:
    """Who set off the red runs, and whether they could have pushed."""
    if runs is not None and facts.request.head_sha is not None:
        try:
            facts = replace(facts, runs=await runs.runs_at(facts.repository, facts.request.head_sha))
        except (NotFound, NotPermitted) as error:
            log.info("runs not known: %s", error.message, extra={"mission": facts.request.mission_id})
    people = [login for login in actors_of(facts.request, facts.runs) if not is_bot(login)]
    return await _permitted(facts, people, github)


async def _before(facts: Facts, registry: Registry | None) -> Facts:
    """What was begun on this branch before, and who turned us off."""
    request, number = facts.request, facts.repository.id
    if registry is None:
        return facts
    switch = await registry.off(number, request.pull_request)
    if request.head_branch is None:
        return replace(facts, switch=switch)
    begun = await registry.attempts(number, branch=request.head_branch)
    live = await registry.live(number, branch=request.head_branch)
    # The mission that asks may have been written down already.
    itself = any(mission.mission_id == request.mission_id and mission.requested_by is None for mission in live)
    return replace(facts, switch=switch, attempts=begun - itself)


async def _red_check(
    request: MissionRequest, repository: RepositoryRef, github: GitHub, own_app_slug: str
) -> CheckRef | None:
    """The newest failing check of the head; None leaves it to the tests to say what is red."""
    runs = await github.check_runs(repository, request.head_sha or "")
    red = [r for r in runs if _may_be_repaired(r, own_app_slug)]
    if not red:
        return None
    newest = max(red, key=lambda run: run.id)
    return CheckRef(id=newest.id, name=newest.name, app_slug=newest.app_slug, conclusion=newest.conclusion or "failure")


def _may_be_repaired(run: CheckRunState, own_app_slug: str) -> bool:
    foreign = run.app_slug != own_app_slug and run.app_slug not in guards.NOT_TESTS
    return foreign and run.conclusion in guards.RED


async def _admission(facts: Facts, github: GitHub) -> Admission:
    request, repository, pull, policy = facts.request, facts.repository, facts.pull, facts.policy
    if request.head_sha is None:
        return _refused(facts, No("the failing commit is not known"))
    job = await _job(request, repository, github)
    base = await _base(facts, github)
    clone = await github.clone_source(repository)
    # The authorization that came with it is dropped here: what we return is stored.
    source = GitSource(
        url=clone.url,
        sha=request.head_sha,
        base_sha=base,
        merge_sha=pull.merge_sha if pull is not None and pull.head_sha == request.head_sha else None,
        repository_id=str(repository.id),
    )
    hints = JobHints(
        job_name=job.name if job else (request.check.name if request.check else None),
        step_name=job.failed_step if job else None,
        workflow_path=job.workflow_path if job else None,
        command=request.command or policy.test_command,
        setup=policy.setup,
        python=policy.python,
    )
    return Admission(
        request=request,
        policy=policy,
        checkout=Checkout(source=source, tier=request.tier, head_repository_id=_fork(pull), hints=hints),
        job=job,
        base_branch=pull.base_ref if pull else None,
        read_only=request.tier is TrustTier.FORK or request.depth is not Depth.FIX,
    )


def _fork(pull: PullRequestState | None) -> str | None:
    """Return the repository that the head of a fork's pull request is in."""
    if pull is None or not pull.from_fork or pull.head_repository_id is None:
        return None
    return str(pull.head_repository_id)


async def _job(request: MissionRequest, repository: RepositoryRef, github: GitHub) -> FailedJob | None:
    if request.check is None or not request.check.is_actions_job:
        return None
    return await github.failed_job(repository, request.check.id)


async def _ci_log(
    repository: RepositoryRef, job: FailedJob, github: GitHub, secrets: Sequence[str]
) -> LogReading | None:
    """What the job's log says; a mission goes on without it, for logs come late, or are gone."""
    try:
        text = await github.job_log(repository, job.id)
    except GitHubError as error:
        log.info("no job log: %s", error.message, extra={"job": job.id})
        return None
    if not text:
        return None
    # The patterns of all tools are made when they are first needed.
    from sandbox.ci_log import StepHint, read_log

    step = job.red_step
    hint = StepHint(step.name, step.started_at or "", step.completed_at or "") if step else None
    return await asyncio.to_thread(read_log, text, hint=hint, secrets=secrets)


async def _base(facts: Facts, github: GitHub) -> str | None:
    """The commit to compare with: where the pull request left its base, or what the push came after."""
    if facts.pull is None:
        return next(iter(facts.commit.parents), None) if facts.commit else None
    try:
        return await github.merge_base(facts.repository, facts.pull.base_sha, facts.request.head_sha or "")
    except NotFound:
        return None


def _refused(facts: Facts, no: No) -> Admission:
    return Admission(request=facts.request, refusal=no.outcome, reason=no.reason, advice=no.advice, policy=facts.policy)
