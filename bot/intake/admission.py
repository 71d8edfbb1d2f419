"""Checks that need GitHub, made after the 202: write access, the current head and the policy."""

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

from pydantic import SecretStr

from bot.domain.admission import Admission
from bot.domain.github import CheckRunState, CommitState, FailedJob, PullRequestState
from bot.domain.request import CheckRef, Depth, MissionRequest, RepositoryRef, Trigger
from bot.errors import GitHubError, NotFound, NotPermitted, Superseded
from bot.intake import guards
from bot.intake.admission_rules import (
    Denial,
    Facts,
    find_refusal,
    is_bot,
    list_actors,
    may_ask,
    not_stale,
)
from bot.intake.called import read_called
from bot.policy.policy_file import load_policy
from bot.ports import GitHubReads, OpenWorkspace, RegistryReads, Workspace
from sandbox.types import Checkout, GitSource, JobHints, LogReading, TrustTier

log = logging.getLogger(__name__)


async def admit(
    request: MissionRequest,
    github: GitHubReads,
    *,
    registry: RegistryReads | None = None,
    own_app_slug: str = "metaagent",
    secrets: Sequence[str] = (),
) -> Admission:
    """Decide whether a request becomes a mission, and with which checkout and policy.

    Args:
        request: The request, as the payload states it.
        github: GitHub's API.
        registry: Earlier missions and off switches; None counts as empty.
        own_app_slug: The slug of our App, whose checks are ignored.
        secrets: Values to mask in job logs.

    Raises:
        GitHubError: GitHub did not answer.
        StoreError: the registry did not answer.
    """
    repository = request.repository
    if repository is None:
        raise ValueError("only requests for a repository can be admitted")
    pull = await _pull_request(request, repository, github)
    facts = Facts(_complete(request, pull), repository, pull=pull, own_login=f"{own_app_slug}[bot]")
    if facts.commanded:
        facts = await _load_permissions(facts, (facts.asker,), github)
        if (no := may_ask(facts)) is not None:
            return _refused(facts, no)
    facts = await _load_facts(facts, github)
    if not (facts.commanded or facts.in_a_step):
        facts = await _load_history(await _load_actors(facts, github), registry)
    if (no := find_refusal(facts)) is not None:
        return _refused(facts, no)
    if facts.commanded and facts.request.check is None and facts.request.improve is None:
        check = await _red_check(facts.request, repository, github, own_app_slug)
        facts = replace(facts, request=facts.request.with_(check=check))
    admission = await _admission(facts, github)
    if admission.job is None:
        return admission
    return admission.with_(ci_log=await _ci_log(repository, admission.job, github, secrets))


async def _pull_request(
    request: MissionRequest, repository: RepositoryRef, github: GitHubReads
) -> PullRequestState | None:
    if request.pull_request is not None:
        return await github.pull_request(repository, request.pull_request)
    # An improvement is asked for on a branch, and other branches may have the same head.
    if request.head_sha is None or request.improve is not None:
        return None
    found = await github.pull_requests_at(repository, request.head_sha)
    same_branch = [p for p in found if not p.from_fork and p.head_ref == request.head_branch]
    return next(iter(same_branch or [p for p in found if not p.from_fork]), None)


def _complete(request: MissionRequest, pull: PullRequestState | None) -> MissionRequest:
    """Complete the request with the pull request's data."""
    if pull is None:
        return request
    known = request.with_(pull_request=pull.number)
    if request.trigger is Trigger.COMMENT:
        tier = TrustTier.FORK if pull.from_fork else TrustTier.BRANCH
        known = known.with_(head_sha=pull.head_sha, head_branch=pull.head_ref, tier=tier)
    return known


async def _load_permissions(facts: Facts, logins: Sequence[str], github: GitHubReads) -> Facts:
    asked = [login for login in logins if login]
    answers = await asyncio.gather(*(github.permission(facts.repository, login) for login in asked))
    return replace(facts, permissions=dict(zip(asked, answers, strict=True)))


async def _load_facts(facts: Facts, github: GitHubReads) -> Facts:
    """Add the policy, the commit and the current head of its branch."""
    request, repository = facts.request, facts.repository
    policy, head_now, commit = await asyncio.gather(
        load_policy(repository, github),
        _head_now(request, repository, github),
        _commit(facts, github),
    )
    if request.staged:
        policy = policy.with_(mode="staged")
    facts = replace(facts, policy=policy, head_now=head_now, commit=commit)
    if not_stale(facts) is None or request.head_sha is None:
        return facts
    # A fork's branch may have the same name as one of ours.
    pulls = await github.pull_requests_at(repository, request.head_sha)
    return replace(facts, in_a_fork=bool(pulls) and all(pull.from_fork for pull in pulls))


async def _head_now(
    request: MissionRequest, repository: RepositoryRef, github: GitHubReads
) -> str | None:
    if request.head_branch is None or request.tier is TrustTier.FORK:
        return None
    return await github.branch_head(repository, request.head_branch)


async def _commit(facts: Facts, github: GitHubReads) -> CommitState | None:
    if facts.request.head_sha is None or (facts.commanded and facts.pull is not None):
        return None
    try:
        return await github.commit(facts.repository, facts.request.head_sha)
    except NotFound:
        return None


async def _load_actors(facts: Facts, github: GitHubReads) -> Facts:
    """Add the actors of the failed runs and their permissions."""
    if facts.request.head_sha is not None:
        try:
            facts = replace(
                facts, runs=await github.runs_at(facts.repository, facts.request.head_sha)
            )
        except (NotFound, NotPermitted) as error:
            log.info(
                "workflow runs unavailable: %s",
                error.message,
                extra={"mission": facts.request.mission_id},
            )
    people = [login for login in list_actors(facts.request, facts.runs) if not is_bot(login)]
    return await _load_permissions(facts, people, github)


async def _load_history(facts: Facts, registry: RegistryReads | None) -> Facts:
    """Add earlier attempts on this branch and the off switch."""
    request, number = facts.request, facts.repository.id
    if registry is None:
        return facts
    switch = await registry.off(number, request.pull_request)
    if request.head_branch is None:
        return replace(facts, switch=switch)
    begun = await registry.attempts(number, branch=request.head_branch)
    live = await registry.live(number, branch=request.head_branch)
    # The requesting mission may already be in the registry.
    itself = any(
        mission.mission_id == request.mission_id and mission.requested_by is None
        for mission in live
    )
    return replace(facts, switch=switch, attempts=begun - itself)


async def _red_check(
    request: MissionRequest, repository: RepositoryRef, github: GitHubReads, own_app_slug: str
) -> CheckRef | None:
    """Return the newest failing check of the head.

    None leaves it to the tests to find the failure.
    """
    runs = await github.check_runs(repository, request.head_sha or "")
    red = [r for r in runs if _may_be_repaired(r, own_app_slug)]
    if not red:
        return None
    newest = max(red, key=lambda run: run.id)
    return CheckRef(
        id=newest.id,
        name=newest.name,
        app_slug=newest.app_slug,
        conclusion=newest.conclusion or "failure",
    )


def _may_be_repaired(run: CheckRunState, own_app_slug: str) -> bool:
    foreign = run.app_slug != own_app_slug and run.app_slug not in guards.NOT_TESTS
    return foreign and run.conclusion in guards.RED


async def _admission(facts: Facts, github: GitHubReads) -> Admission:
    request, repository, pull, policy = facts.request, facts.repository, facts.pull, facts.policy
    if request.head_sha is None:
        return _refused(facts, Denial("the failing commit is unknown"))
    job = await _job(request, repository, github)
    base = await _base(facts, github)
    clone = await github.clone_source(repository)
    # The clone's credentials are dropped here, since the result is stored.
    source = GitSource(
        url=clone.url,
        sha=request.head_sha,
        base_sha=base,
        merge_sha=pull.merge_sha
        if pull is not None and pull.head_sha == request.head_sha
        else None,
        repository_id=str(repository.id),
    )
    hints = JobHints(
        job_name=job.name if job else (request.check.name if request.check else None),
        step_name=job.failed_step if job else None,
        workflow_path=job.workflow_path if job else None,
        command=request.command or policy.test_command,
        setup=policy.setup,
        python=policy.python,
        called=await read_called(repository, job, github) if job else (),
        repository=repository.full_name,
    )
    return Admission(
        request=request,
        policy=policy,
        checkout=Checkout(
            source=source,
            tier=request.tier,
            head_repository_id=_fork(pull),
            hints=hints,
            name=repository.name,
        ),
        job=job,
        base_branch=pull.base_ref if pull else None,
        read_only=request.tier is TrustTier.FORK or request.depth is not Depth.FIX,
    )


def _fork(pull: PullRequestState | None) -> str | None:
    """Return the repository that the head of a fork's pull request is in."""
    if pull is None or not pull.from_fork or pull.head_repository_id is None:
        return None
    return str(pull.head_repository_id)


async def _job(
    request: MissionRequest, repository: RepositoryRef, github: GitHubReads
) -> FailedJob | None:
    if request.check is None or not request.check.is_actions_job:
        return None
    return await github.failed_job(repository, request.check.id)


async def _ci_log(
    repository: RepositoryRef, job: FailedJob, github: GitHubReads, secrets: Sequence[str]
) -> LogReading | None:
    """Read the job's log. It is optional, because logs may arrive late or expire."""
    try:
        text = await github.job_log(repository, job.id)
    except GitHubError as error:
        log.info("job log unavailable: %s", error.message, extra={"job": job.id})
        return None
    if not text:
        return None
    # Imported late: the module compiles the log patterns of all tools.
    from sandbox.ci_log import StepHint, read_log

    step = job.red_step
    hint = StepHint(step.name, step.started_at or "", step.completed_at or "") if step else None
    return await asyncio.to_thread(read_log, text, hint=hint, secrets=secrets)


async def _base(facts: Facts, github: GitHubReads) -> str | None:
    """Return the commit to compare with: the merge base, or a push's parent."""
    if facts.pull is None:
        return next(iter(facts.commit.parents), None) if facts.commit else None
    try:
        return await github.merge_base(
            facts.repository, facts.pull.base_sha, facts.request.head_sha or ""
        )
    except NotFound:
        return None


def _refused(facts: Facts, no: Denial) -> Admission:
    return Admission(
        request=facts.request,
        refusal=no.outcome,
        reason=no.reason,
        advice=no.advice,
        policy=facts.policy,
    )


def guard_opening(
    open_workspace: OpenWorkspace, github: GitHubReads, admission: Admission
) -> OpenWorkspace:
    """Check before each opening that the branch is unmoved, and request access to fetch.

    An obsolete mission ends before its next long stage. Tokens are short-lived and never stored.
    """

    @asynccontextmanager
    async def door(checkout: Checkout) -> AsyncIterator[Workspace]:
        await _ensure_unmoved(admission.request, github)
        source = checkout.source
        if isinstance(source, GitSource):
            clone = await github.clone_source(admission.repository)
            source = source.with_(url=clone.url, authorization=SecretStr(clone.authorization))
        async with open_workspace(checkout.with_(source=source)) as workspace:
            yield workspace

    return door


async def _ensure_unmoved(request: MissionRequest, github: GitHubReads) -> None:
    """Check that the failing commit is still the head of its branch, except on forks.

    Raises:
        Superseded: the branch moved or was deleted.
    """
    if request.repository is None or request.head_branch is None or request.tier is TrustTier.FORK:
        return
    head = await github.branch_head(request.repository, request.head_branch)
    if head != request.head_sha:
        where = f"moved on to {head[:12]}" if head else "is gone"
        raise Superseded(f"the branch {request.head_branch} {where} while we worked")
