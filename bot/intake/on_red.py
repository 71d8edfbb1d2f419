"""A check failed: its head is watched until all checks have completed."""

from bot.domain.command import Command, Origin, Verb
from bot.domain.request import CheckRef, Ignored, RedHead, RepositoryRef
from bot.github.events import (
    CheckRunEvent,
    CheckSuiteEvent,
    Delivery,
    StatusEvent,
    WorkflowJobEvent,
    WorkflowRun,
    WorkflowRunEvent,
    cut,
)
from bot.intake import guards
from bot.intake.guards import Head
from bot.intake.identity import OwnApp
from bot.intake.on_comment import is_bot
from sandbox.types import TrustTier

ACTIONS = "github-actions"

BY_CODE = frozenset(
    {"push", "pull_request", "schedule", "workflow_dispatch", "repository_dispatch"}
)
"""Events whose runs test the commit they name; `pull_request_target` runs name the base instead."""


def on_check_run(delivery: Delivery, own: OwnApp) -> RedHead | Ignored:
    """Handle `check_run.completed`, from Actions or another CI."""
    event = cut(delivery, CheckRunEvent)
    run = event.check_run
    branch = run.check_suite.head_branch if run.check_suite else None
    head = Head(
        sha=run.head_sha, branch=branch, repository_id=event.repository.id, links=run.pull_requests
    )
    no = (
        guards.refuse_conclusion(run.conclusion)
        or guards.refuse_app(run.app, own)
        or guards.refuse_head(head)
    )
    if no is not None:
        return Ignored(reason=no)
    check = CheckRef(
        id=run.id,
        name=run.name,
        app_slug=(run.app.slug if run.app else None) or "",
        conclusion=run.conclusion or "failure",
        details_url=run.details_url,
    )
    return _red(head, event.repository_ref, delivery).with_(check=check)


def on_check_suite(delivery: Delivery, own: OwnApp) -> RedHead | Command | Ignored:
    """Handle `check_suite.completed` and `check_suite.rerequested`."""
    event = cut(delivery, CheckSuiteEvent)
    suite = event.check_suite
    if suite.head_sha is None:
        return Ignored(reason="the suite names no commit")
    head = Head(
        sha=suite.head_sha,
        branch=suite.head_branch,
        repository_id=event.repository.id,
        links=suite.pull_requests,
    )
    if delivery.action == "rerequested":
        return _again(event, head, delivery, own)
    no = guards.refuse_conclusion(suite.conclusion) or guards.refuse_app(suite.app, own)
    if (no := no or guards.refuse_head(head)) is not None:
        return Ignored(reason=no)
    return _red(head, event.repository_ref, delivery)


def _again(
    event: CheckSuiteEvent, head: Head, delivery: Delivery, own: OwnApp
) -> Command | Ignored:
    """Return a retry command; GitHub sends a rerequest only to the suite's owner."""
    if (
        event.check_suite.app is not None
        and own.app_id is not None
        and event.check_suite.app.id != own.app_id
    ):
        return Ignored(reason="the suite is another App's")
    if event.sender is None or is_bot(event.sender.login, own, said_so=event.sender.is_bot):
        return Ignored(reason="bots cannot give commands")
    return Command(
        command_id=f"command:{event.repository.id}:s{delivery.id}",
        verb=Verb.RETRY,
        word=Verb.RETRY.value,
        origin=Origin.BUTTON,
        repository=event.repository_ref,
        author=event.sender.login,
        number=head.pull_request,
        head_sha=head.sha,
        head_branch=head.branch,
        delivery_id=delivery.id,
    )


def on_workflow_run(delivery: Delivery, _: OwnApp) -> RedHead | Ignored:
    """Handle `workflow_run.completed`, the main trigger: with actors and head repository."""
    event = cut(delivery, WorkflowRunEvent)
    run = event.workflow_run
    here = event.repository.id
    head = Head(
        sha=run.head_sha,
        branch=run.head_branch,
        repository_id=here,
        links=run.pull_requests,
        elsewhere=run.head_repository is None or run.head_repository.id != here,
    )
    no = guards.refuse_conclusion(run.conclusion) or guards.refuse_head(head)
    if no is None and run.event is not None and run.event not in BY_CODE:
        no = f"a run triggered by {run.event} does not test the commit it names"
    if no is not None:
        return Ignored(reason=no)
    return _red(head, event.repository_ref, delivery).with_(
        workflow_run=run.id, actors=_actors(run)
    )


def _actors(run: WorkflowRun) -> tuple[str, ...]:
    """Return the accounts whose rights must be checked; a push already needs write access."""
    if run.event == "push":
        return ()
    return tuple(
        dict.fromkeys(who.login for who in (run.actor, run.triggering_actor) if who is not None)
    )


def on_workflow_job(delivery: Delivery, _: OwnApp) -> RedHead | Ignored:
    """Handle `workflow_job.completed`; whether the head is a fork's is checked later."""
    event = cut(delivery, WorkflowJobEvent)
    job = event.workflow_job
    if guards.refuse_conclusion(job.conclusion) is None and not job.head_branch:
        return Ignored(reason="the job has no branch; its workflow run's event locates the head")
    head = Head(sha=job.head_sha, branch=job.head_branch, repository_id=event.repository.id)
    if (no := guards.refuse_conclusion(job.conclusion) or guards.refuse_head(head)) is not None:
        return Ignored(reason=no)
    conclusion = job.conclusion or "failure"
    check = CheckRef(
        id=job.id, name=job.name, app_slug=ACTIONS, conclusion=conclusion, details_url=job.html_url
    )
    return _red(head, event.repository_ref, delivery).with_(check=check, workflow_run=job.run_id)


def on_status(delivery: Delivery, own: OwnApp) -> RedHead | Ignored:
    """Handle `status`, from an older CI; the branch is one whose head is this commit."""
    event = cut(delivery, StatusEvent)
    if event.state not in {"failure", "error"}:
        return Ignored(reason=f"the status is {event.state}")
    if event.sender is not None and event.sender.login == own.login:
        return Ignored(reason="it is our own status")
    if not guards.is_test_status(event.context):
        return Ignored(reason="the status is not about tests")
    heads = [b.name for b in event.branches if b.commit is not None and b.commit.sha == event.sha]
    default = event.repository.default_branch
    branch = default if default in heads else next(iter(heads), None)
    head = Head(sha=event.sha, branch=branch, repository_id=event.repository.id)
    if (no := guards.refuse_head(head)) is not None:
        return Ignored(reason=no)
    return _red(head, event.repository_ref, delivery).with_(
        check=CheckRef(id=0, name=event.context)
    )


def _red(head: Head, repository: RepositoryRef, delivery: Delivery) -> RedHead:
    on_default = head.branch == repository.default_branch
    return RedHead(
        repository=repository,
        head_sha=head.sha,
        head_branch=head.branch,
        pull_request=head.pull_request,
        tier=TrustTier.DEFAULT_BRANCH if on_default else TrustTier.BRANCH,
        delivery_id=delivery.id,
    )
