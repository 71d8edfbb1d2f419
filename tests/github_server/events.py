"""What follows from a change: webhooks, moved pull-request heads, new check suites and CI runs."""

from tests.github_server.entities import (
    CheckRun,
    Comment,
    Issue,
    Job,
    Json,
    Pull,
    Repository,
    Suite,
    WorkflowRun,
)
from tests.github_server.entities_reviews import ReviewComment, Status
from tests.github_server.gitstore import ZERO
from tests.github_server.hub import Hub, Trigger
from tests.github_server.render import hook_repository_json, user_json
from tests.github_server.render_checks import (
    check_run_json,
    job_json,
    suite_json,
    workflow_json,
    workflow_run_json,
)
from tests.github_server.render_git import branch_json, commit_json, html, simple_commit_json
from tests.github_server.render_pulls import comment_json, issue_json, pull_json, pull_simple_json
from tests.github_server.render_reviews import review_comment_json
from tests.github_server.workflows import workflows_of


def emit(hub: Hub, event: str, repo: Repository, sender: str, payload: Json) -> None:
    """Send an event of a repository."""
    world = hub.world
    common = {
        "repository": hook_repository_json(world, repo, event),
        "sender": user_json(world, sender),
    }
    hub.webhooks.send(event, {**payload, **common}, repo)


# --- refs -----------------------------------------------------------------------------------------


def refs_changed(hub: Hub, repo: Repository, before: dict[str, str], actor: str) -> None:
    """Tell the world about every branch that moved since `before` was taken."""
    after = repo.store.refs("refs/heads/")
    for name in sorted({*before, *after}):
        old, new = before.get(name, ZERO), after.get(name, ZERO)
        if old != new:
            _branch_moved(hub, repo, name, (old, new), actor)


def set_branch(hub: Hub, repo: Repository, name: str, sha: str | None, actor: str) -> None:
    """Move, make or delete a ref and tell the world."""
    old, new = repo.store.ref(name) or ZERO, sha or ZERO
    repo.store.set_ref(name, sha)
    if name.startswith("refs/heads/") and old != new:
        _branch_moved(hub, repo, name, (old, new), actor)


def _branch_moved(hub: Hub, repo: Repository, name: str, move: tuple[str, str], actor: str) -> None:
    old, new = move
    branch = name.removeprefix("refs/heads/")
    repo.pushed_at = hub.world.now()
    emit(hub, "push", repo, actor, _push_payload(hub, repo, name, move, actor))
    for issue in [i for base in hub.world.repositories.values() for i in hub.world.pulls(base)]:
        pull = issue.pull
        if (
            pull
            and issue.state == "open"
            and (pull.head_repository, pull.head_ref) == (repo.id, branch)
        ):
            _head_moved(hub, issue, pull, new, actor)
        elif (
            pull
            and issue.state == "open"
            and (issue.repository, pull.base_ref) == (repo.id, branch)
            and new != ZERO
        ):
            pull.base_sha = new
    if new == ZERO:
        return
    _own_suite(hub, repo, branch, move, actor)
    hub.start_ci(Trigger(repo, "push", branch, new, old, actor, repo))


def _own_suite(hub: Hub, repo: Repository, branch: str, move: tuple[str, str], actor: str) -> None:
    """GitHub makes a suite on every push for every App that may write checks, and asks it to run."""
    installation = hub.world.installation_of(repo)
    if installation and installation.permissions.get("checks") == "write":
        suite = hub.world.suite_for(repo, hub.world.app.id, move[1], branch, move[0])
        check_suite_event(hub, suite, "requested", actor)


def _push_payload(hub: Hub, repo: Repository, name: str, move: tuple[str, str], actor: str) -> Json:
    old, new = move
    person = {"name": actor, "email": f"{actor}@users.noreply.github.com"}
    commits: list[Json] = []
    if new != ZERO:
        range_ = (new,) if old == ZERO else (new, f"^{old}")
        commits = [
            _pushed_commit(hub, repo, sha)
            for sha in reversed(repo.store.history(*range_, limit=20))
        ]
    return {
        "ref": name,
        "before": old,
        "after": new,
        "created": old == ZERO,
        "deleted": new == ZERO,
        "forced": ZERO not in move and not repo.store.is_ancestor(old, new),
        "base_ref": None,
        "compare": f"{html(hub.world, repo)}/compare/{old[:12]}...{new[:12]}",
        "commits": commits,
        "head_commit": _pushed_commit(hub, repo, new) if new != ZERO else None,
        "pusher": person,
    }


def _pushed_commit(hub: Hub, repo: Repository, sha: str) -> Json:
    """A commit in a push, with the names of its files."""
    parents = repo.store.commit(sha).parents
    changes = repo.store.changes(parents[0], sha) if parents else []
    files = {"added": "added", "removed": "removed"}
    lists: Json = {"added": [], "removed": [], "modified": []}
    for change in changes:
        lists[files.get(change.status, "modified")].append(change.path)
    url = f"{html(hub.world, repo)}/commit/{sha}"
    return {**simple_commit_json(repo, sha), "distinct": True, "url": url, **lists}


# --- pull requests and comments -------------------------------------------------------------------


def _head_moved(hub: Hub, issue: Issue, pull: Pull, new: str, actor: str) -> None:
    """The head branch of an open pull request moved (synchronize) or went away (closed)."""
    base = hub.world.repositories[issue.repository]
    if new == ZERO:
        issue.state, issue.closed_at = "closed", hub.world.now()
        pull_event(hub, issue, "closed", actor)
        return
    old, pull.head_sha = pull.head_sha, new
    issue.updated_at = hub.world.now()
    sync_head(hub, issue, pull)
    pull_event(hub, issue, "synchronize", actor, {"before": old, "after": new})
    run_pull_ci(hub, issue, pull, actor)
    base.pushed_at = hub.world.now()


def sync_head(hub: Hub, issue: Issue, pull: Pull) -> None:
    """Keep `refs/pull/N/head` of the base repository at the head."""
    base, head = (
        hub.world.repositories[issue.repository],
        hub.world.repositories[pull.head_repository],
    )
    if base is not head:
        base.store.run("fetch", "--quiet", str(head.store.path), pull.head_sha)
    base.store.set_ref(f"refs/pull/{issue.number}/head", pull.head_sha)


def trial_merge(hub: Hub, issue: Issue, pull: Pull) -> str | None:
    """`refs/pull/N/merge` and `merge_commit_sha` of an open pull request; nothing when it conflicts with its base."""
    store, text = (
        hub.world.repositories[issue.repository].store,
        f"Merge {pull.head_sha} into {pull.base_sha}",
    )
    sha = store.merge(pull.base_sha, pull.head_sha, text, hub.world.person(issue.user))
    if sha != pull.merge_commit_sha:
        pull.merge_commit_sha = sha
        store.set_ref(f"refs/pull/{issue.number}/merge", sha)
    return sha


def run_pull_ci(hub: Hub, issue: Issue, pull: Pull, actor: str) -> None:
    """Start the CI for the event `pull_request`, which tests the merge; where there is a conflict, nothing runs."""
    base, head = (
        hub.world.repositories[issue.repository],
        hub.world.repositories[pull.head_repository],
    )
    # Making the merge takes a while: only for a workflow that will look at it.
    flows = workflows_of(base, pull.head_sha)
    if not flows or (base is head and all("pull_request" not in flow.events for flow in flows)):
        return
    merge = trial_merge(hub, issue, pull)
    if merge is not None:
        trigger = Trigger(
            base, "pull_request", pull.head_ref, pull.head_sha, pull.base_sha, actor, head, merge
        )
        hub.start_ci(trigger)


def pull_event(hub: Hub, issue: Issue, action: str, actor: str, more: Json | None = None) -> None:
    """A `pull_request` event."""
    repo = hub.world.repositories[issue.repository]
    pull = pull_json(hub.world, issue, mergeable=None)
    emit(
        hub,
        "pull_request",
        repo,
        actor,
        {"action": action, "number": issue.number, "pull_request": pull, **(more or {})},
    )


def issue_event(
    hub: Hub, issue: Issue, action: str, actor: str, changes: Json | None = None
) -> None:
    """An `issues` event; pull requests have their own."""
    repo = hub.world.repositories[issue.repository]
    payload: Json = {"action": action, "issue": issue_json(hub.world, issue)}
    if changes is not None:
        payload["changes"] = changes
    emit(hub, "issues", repo, actor, payload)


def comment_event(hub: Hub, comment: Comment, action: str, actor: str) -> None:
    """An `issue_comment` event."""
    repo = hub.world.repositories[comment.repository]
    issue = issue_json(hub.world, repo.issues[comment.number])
    payload: Json = {"action": action, "issue": issue, "comment": comment_json(hub.world, comment)}
    if action == "edited":
        payload["changes"] = {}
    emit(hub, "issue_comment", repo, actor, payload)


def review_comment_event(hub: Hub, comment: ReviewComment, action: str, actor: str) -> None:
    """A `pull_request_review_comment` event."""
    repo = hub.world.repositories[comment.repository]
    pull = pull_simple_json(hub.world, repo.issues[comment.number])
    body = {
        "action": action,
        "comment": review_comment_json(hub.world, comment),
        "pull_request": pull,
    }
    emit(hub, "pull_request_review_comment", repo, actor, body)


def status_event(hub: Hub, status: Status) -> None:
    """A `status` event."""
    world, repo = hub.world, hub.world.repositories[status.repository]
    heads = repo.store.refs("refs/heads/").items()
    body = {
        "id": status.id,
        "sha": status.sha,
        "name": repo.full_name,
        "avatar_url": user_json(world, status.creator)["avatar_url"],
        "target_url": status.target_url,
        "context": status.context,
        "description": status.description,
        "state": status.state,
        "commit": commit_json(world, repo, status.sha),
        "branches": [
            branch_json(world, repo, name.removeprefix("refs/heads/"), sha)
            for name, sha in heads
            if sha == status.sha
        ],
        "created_at": status.created_at,
        "updated_at": status.created_at,
    }
    emit(hub, "status", repo, status.creator, body)


# --- checks and runs ------------------------------------------------------------------------------


def check_run_event(
    hub: Hub, run: CheckRun, action: str, actor: str, more: Json | None = None
) -> None:
    """A `check_run` event."""
    repo = hub.world.repositories[run.repository]
    body = check_run_json(hub.world, run, full_suite=True)
    emit(hub, "check_run", repo, actor, {"action": action, "check_run": body, **(more or {})})


def check_suite_event(hub: Hub, suite: Suite, action: str, actor: str) -> None:
    """A `check_suite` event."""
    repo = hub.world.repositories[suite.repository]
    body = suite_json(hub.world, suite)
    del body["repository"]
    emit(hub, "check_suite", repo, actor, {"action": action, "check_suite": body})


def workflow_run_event(hub: Hub, run: WorkflowRun, action: str) -> None:
    """A `workflow_run` event."""
    repo = hub.world.repositories[run.repository]
    body = {
        "workflow_run": workflow_run_json(hub.world, run),
        "workflow": workflow_json(hub.world, run),
    }
    emit(hub, "workflow_run", repo, run.actor, {"action": action, **body})


def workflow_job_event(hub: Hub, job: Job, action: str) -> None:
    """A `workflow_job` event."""
    run = hub.world.runs[job.run]
    repo = hub.world.repositories[run.repository]
    emit(
        hub,
        "workflow_job",
        repo,
        run.actor,
        {"action": action, "workflow_job": job_json(hub.world, job)},
    )
