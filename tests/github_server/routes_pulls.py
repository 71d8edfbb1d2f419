"""Pull requests."""

from tests.github_server import events
from tests.github_server.entities import Issue, Pull, Repository
from tests.github_server.errors import ApiError, not_found, validation
from tests.github_server.hub import Hub
from tests.github_server.render import user_json
from tests.github_server.render_git import change_json, commit_json
from tests.github_server.render_pulls import pull_json, pull_simple_json
from tests.github_server.routing import Call, Reply, Route, page

BODY_LIMIT = 65_536


def find_pull(call: Call) -> tuple[Issue, Pull]:
    """The pull request in the path."""
    issue = call.repo.issues.get(call.number("pull_number"))
    if issue is None or issue.pull is None:
        raise not_found()
    return issue, issue.pull


def check_body(resource: str, body: object) -> None:
    """GitHub's limit on bodies, in characters."""
    if isinstance(body, str) and len(body) > BODY_LIMIT:
        raise validation(
            resource, "body", "custom", f"body is too long (maximum is {BODY_LIMIT} characters)"
        )


def list_pulls(call: Call) -> Reply:
    """GET /repos/{owner}/{repo}/pulls."""
    query, world = call.query, call.world
    state, head, base = query.get("state", "open"), query.get("head"), query.get("base")
    found = []
    for issue in world.pulls(call.repo):
        pull = issue.pull
        if pull is None:
            continue
        source = world.repositories.get(pull.head_repository)
        label = f"{source.owner if source else ''}:{pull.head_ref}"
        wrong_head = head is not None and ":" in head and head.lower() != label.lower()
        if state in {"all", issue.state} and not wrong_head and base in {None, pull.base_ref}:
            found.append(issue)
    if query.get("direction", "desc") == "asc":
        found.reverse()
    return page(call, [pull_simple_json(world, issue) for issue in found])


def create_pull(call: Call) -> Reply:
    """POST /repos/{owner}/{repo}/pulls."""
    if call.actor.app and not call.repo.actions_open_pulls:
        raise ApiError(403, "GitHub Actions is not permitted to create or approve pull requests.")
    head_repo, branch = _head(call, call.field("head"))
    base, body = call.field("base"), call.body
    title = call.field("title")
    check_body("PullRequest", body.get("body"))
    issue = open_pull(
        call.hub,
        call.repo,
        (head_repo, branch),
        base,
        {"title": title, "body": body.get("body"), "user": call.actor.login},
    )
    if issue.pull:
        issue.pull.draft = bool(body.get("draft"))
        issue.pull.maintainer_can_modify = (
            bool(body.get("maintainer_can_modify")) and head_repo is not call.repo
        )
    return Reply(pull_json(call.world, issue, mergeable=None), 201)


def _head(call: Call, name: str) -> tuple[Repository, str]:
    """The repository and branch of `branch` or `owner:branch`."""
    owner, colon, branch = name.rpartition(":")
    if not colon or owner.lower() == call.repo.owner.lower():
        return call.repo, branch
    for repo in call.world.repositories.values():
        if repo.parent == call.repo.id and repo.owner.lower() == owner.lower():
            return repo, branch
    raise validation("PullRequest", "head", "invalid")


def open_pull(
    hub: Hub, repo: Repository, head: tuple[Repository, str], base: str, text: dict[str, str | None]
) -> Issue:
    """Make a pull request, with GitHub's refusals.

    Args:
        hub: the server's services.
        repo: where the pull request is opened.
        head: the head repository and branch.
        base: the base branch.
        text: title, body and user.
    """
    world, (head_repo, branch) = hub.world, head
    head_sha, base_sha = (
        head_repo.store.ref(f"refs/heads/{branch}"),
        repo.store.ref(f"refs/heads/{base}"),
    )
    if head_sha is None:
        raise validation("PullRequest", "head", "invalid")
    if base_sha is None:
        raise validation("PullRequest", "base", "invalid")
    for other in world.pulls(repo):
        pull = other.pull
        if pull and other.state == "open":
            same_head = (pull.head_repository, pull.head_ref) == (head_repo.id, branch)
            if same_head and pull.base_ref == base:
                text_ = f"A pull request already exists for {head_repo.owner}:{branch}."
                raise ApiError(
                    422,
                    "Validation Failed",
                    errors=[{"resource": "PullRequest", "code": "custom", "message": text_}],
                )
    number, now = world.next_number(repo), world.now()
    made = Pull(world.next_id(), head_repo.id, head_repo.owner, branch, head_sha, base, base_sha)
    user = text["user"] or world.app.bot
    issue = Issue(
        world.next_large_id(),
        repo.id,
        number,
        text["title"] or "",
        text["body"],
        user,
        now,
        now,
        made,
    )
    if head_repo is not repo:
        repo.store.run("fetch", "--quiet", str(head_repo.store.path), head_sha)
    if not repo.store.history(f"{base_sha}..{head_sha}"):
        text_ = f"No commits between {base} and {branch}"
        raise ApiError(
            422,
            "Validation Failed",
            errors=[{"resource": "PullRequest", "code": "custom", "message": text_}],
        )
    repo.issues[number] = issue
    events.sync_head(hub, issue, made)
    events.pull_event(hub, issue, "opened", user)
    events.run_pull_ci(hub, issue, made, user)
    return issue


def get_pull(call: Call) -> Reply:
    """GET /repos/{owner}/{repo}/pulls/{pull_number}, also as a diff."""
    issue, pull = find_pull(call)
    if "diff" in call.headers.get("accept", ""):
        text = call.repo.store.run("diff", f"{pull.base_sha}...{pull.head_sha}")
        return Reply(text, media_type="application/vnd.github.diff; charset=utf-8")
    merge = (
        events.trial_merge(call.hub, issue, pull)
        if pull.merged_at is None and issue.state == "open"
        else ""
    )
    return Reply(
        pull_json(
            call.world, issue, mergeable=None if issue.state == "closed" else merge is not None
        )
    )


def update_pull(call: Call) -> Reply:
    """PATCH /repos/{owner}/{repo}/pulls/{pull_number}."""
    issue, pull = find_pull(call)
    body = call.body
    check_body("PullRequest", body.get("body"))
    for name in ("title", "body"):
        if name in body:
            setattr(issue, name, body[name])
    if body.get("base"):
        sha = call.repo.store.ref(f"refs/heads/{body['base']}")
        if sha is None:
            raise validation("PullRequest", "base", "invalid")
        pull.base_ref, pull.base_sha = body["base"], sha
    issue.updated_at = call.world.now()
    if body.get("state") in {"open", "closed"} and body["state"] != issue.state:
        set_state(call.hub, issue, body["state"], call.actor.login)
    return Reply(pull_json(call.world, issue))


def set_state(hub: Hub, issue: Issue, state: str, actor: str) -> None:
    """Close or reopen a pull request."""
    issue.state = state
    issue.closed_at = hub.world.now() if state == "closed" else None
    events.pull_event(hub, issue, "closed" if state == "closed" else "reopened", actor)


def list_files(call: Call) -> Reply:
    """GET /repos/{owner}/{repo}/pulls/{pull_number}/files."""
    _, pull = find_pull(call)
    base = call.repo.store.merge_base(pull.base_sha, pull.head_sha) or pull.base_sha
    changes = call.repo.store.changes(base, pull.head_sha)
    return page(call, [change_json(call.world, call.repo, one, pull.head_sha) for one in changes])


def list_pull_commits(call: Call) -> Reply:
    """GET /repos/{owner}/{repo}/pulls/{pull_number}/commits."""
    _, pull = find_pull(call)
    shas = call.repo.store.history(f"{pull.base_sha}..{pull.head_sha}")
    return page(call, [commit_json(call.world, call.repo, sha) for sha in reversed(shas)])


def request_reviewers(call: Call) -> Reply:
    """POST /repos/{owner}/{repo}/pulls/{pull_number}/requested_reviewers: collaborators only, never the author."""
    issue, pull = find_pull(call)
    logins: list[str] = call.body.get("reviewers") or []
    if issue.user in logins:
        raise ApiError(422, "Review cannot be requested from pull request author.")
    able = {login.lower() for login, level in call.repo.permissions.items() if level != "none"}
    if call.body.get("team_reviewers") or any(login.lower() not in able for login in logins):
        text = "One or more of the users or teams you specified is not a collaborator of the"
        raise ApiError(
            422,
            f"Reviews may only be requested from collaborators. {text} {call.repo.full_name} repository.",
        )
    for login in logins:
        if login not in pull.reviewers:
            pull.reviewers.append(login)
            more = {"requested_reviewer": user_json(call.world, login)}
            events.pull_event(call.hub, issue, "review_requested", call.actor.login, more)
    return Reply(pull_simple_json(call.world, issue), 201)


PULLS = "/repos/{owner}/{repo}/pulls"
ROUTES = (
    Route("GET", PULLS, list_pulls),
    Route("POST", PULLS, create_pull),
    Route("GET", f"{PULLS}/{{pull_number}}", get_pull),
    Route("PATCH", f"{PULLS}/{{pull_number}}", update_pull),
    Route("GET", f"{PULLS}/{{pull_number}}/files", list_files),
    Route("GET", f"{PULLS}/{{pull_number}}/commits", list_pull_commits),
    Route("POST", f"{PULLS}/{{pull_number}}/requested_reviewers", request_reviewers),
)
