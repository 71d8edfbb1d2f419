"""What only GitHub can say, asked after the 202: write access, the head as it is now, the repository's policy."""

import asyncio
import logging
from collections.abc import Sequence

from bot.domain.admission import Admission
from bot.domain.github import CheckRunState, FailedJob, PullRequestState
from bot.domain.mission import Outcome
from bot.domain.policy import RepositoryPolicy
from bot.domain.request import CheckRef, MissionRequest, RepositoryRef, Trigger
from bot.errors import GitHubError, NotFound
from bot.intake import guards
from bot.policy.policy_file import POLICY_PATH, read_policy
from bot.ports import GitHub
from sandbox.types import Checkout, GitSource, JobHints, LogReading, TrustTier

log = logging.getLogger(__name__)

MAY_COMMAND = frozenset({"admin", "write"})
"""GitHub reports `maintain` as write and `triage` as read."""

_ASK = "a maintainer may write `/metaagent fix` in the pull request"


async def admit(
    request: MissionRequest, github: GitHub, *, own_app_slug: str = "metaagent", secrets: Sequence[str] = ()
) -> Admission:
    """Whether a request may become a mission, and on what.

    Args:
        request: What the payload said.
        github: Who knows the rest.
        own_app_slug: Whose checks are ours.
        secrets: Must not be seen in what is kept of a log.

    Raises:
        GitHubError: GitHub could not be asked.
    """
    repository = request.repository
    if repository is None:
        raise ValueError("only requests about a repository are admitted")
    commanded = request.trigger is Trigger.COMMENT
    pull = await _pull_request(request, repository, github)
    known = _completed(request, pull)
    if commanded and (refused := await _no_to_command(known, repository, pull, github)) is not None:
        return refused
    policy = read_policy(await github.read_file(repository, POLICY_PATH, repository.default_branch))
    if (reason := _no_by_policy(policy, commanded=commanded)) is not None:
        advice = f"change {POLICY_PATH} on {repository.default_branch}"
        return _refusal(known, Outcome.POLICY, reason, advice=advice, policy=policy)
    if (stale := await _stale(known, repository, pull, github)) is not None:
        if not commanded and await _is_in_a_fork(known, repository, github):
            reason = "the failing commit is in a fork, and forks are repaired on request only"
            return _refusal(known, Outcome.POLICY, reason, advice=_ASK, policy=policy)
        return _refusal(known, Outcome.STALE, stale, policy=policy)
    if commanded:
        known = known.with_(check=await _red_check(known, repository, github, own_app_slug))
    admission = await _admission(known, pull, policy, github)
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


async def _no_to_command(
    request: MissionRequest, repository: RepositoryRef, pull: PullRequestState | None, github: GitHub
) -> Admission | None:
    comment = request.comment
    if comment is None or pull is None:
        return _refusal(request, Outcome.POLICY, "the comment does not stand in a pull request")
    if await github.permission(repository, comment.author) not in MAY_COMMAND:
        reason = f"{comment.author} has no write access here, and only people who have may start a mission"
        return _refusal(request, Outcome.POLICY, reason, advice="ask a maintainer to write `/metaagent fix`")
    if pull.state != "open":
        return _refusal(request, Outcome.POLICY, "the pull request is not open")
    if guards.is_own_branch(pull.head_ref) and not pull.from_fork:
        reason = "this pull request is one of ours, and we do not repair our own repairs"
        return _refusal(request, Outcome.POLICY, reason, advice="comment on the pull request it wants to repair")
    return None


def _no_by_policy(policy: RepositoryPolicy, *, commanded: bool) -> str | None:
    if not policy.enabled:
        return f"{POLICY_PATH} switches MetaAgent off"
    if not policy.automatic and not commanded:
        because = f" ({policy.problems[0]})" if policy.problems else ""
        return f"{POLICY_PATH} allows missions on request only{because}"
    return None


async def _stale(
    request: MissionRequest, repository: RepositoryRef, pull: PullRequestState | None, github: GitHub
) -> str | None:
    """Whether the failing commit is no longer where work goes on."""
    head = request.head_sha or ""
    if pull is not None and pull.head_sha == head and pull.state == "open":
        return None
    if request.head_branch is None:
        return None
    now = await github.branch_head(repository, request.head_branch)
    if now is None:
        return f"the branch {request.head_branch} is gone"
    if now != head:
        return f"the branch {request.head_branch} has moved on from {head[:8]} to {now[:8]}"
    return None


async def _is_in_a_fork(request: MissionRequest, repository: RepositoryRef, github: GitHub) -> bool:
    """Whether only a fork's pull request has this commit as its head: its branch may be called like one of ours."""
    pulls = await github.pull_requests_at(repository, request.head_sha or "")
    return bool(pulls) and all(pull.from_fork for pull in pulls)


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


async def _admission(
    request: MissionRequest, pull: PullRequestState | None, policy: RepositoryPolicy, github: GitHub
) -> Admission:
    repository = request.repository
    if repository is None or request.head_sha is None:
        return _refusal(request, Outcome.POLICY, "the failing commit is not known", policy=policy)
    job = await _job(request, repository, github)
    base = await _base(repository, request.head_sha, pull, github)
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
        checkout=Checkout(source=source, tier=request.tier, hints=hints),
        job=job,
        base_branch=pull.base_ref if pull else None,
        read_only=request.tier is TrustTier.FORK,
    )


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


async def _base(repository: RepositoryRef, head: str, pull: PullRequestState | None, github: GitHub) -> str | None:
    """The commit to compare with: where the pull request left its base, or what the push came after."""
    try:
        if pull is not None:
            return await github.merge_base(repository, pull.base_sha, head)
        parents = (await github.commit(repository, head)).parents
    except NotFound:
        return None
    return parents[0] if parents else None


def _refusal(
    request: MissionRequest,
    outcome: Outcome,
    reason: str,
    *,
    advice: str = "",
    policy: RepositoryPolicy | None = None,
) -> Admission:
    return Admission(
        request=request, refusal=outcome, reason=reason, advice=advice, policy=policy or RepositoryPolicy()
    )
