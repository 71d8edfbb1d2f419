"""Issues, comments, reactions and labels."""

from tests.github_server import events
from tests.github_server.entities import Comment, Issue, Json, Label, Reaction, Repository
from tests.github_server.errors import ApiError, invalid, not_found, validation
from tests.github_server.hub import Hub
from tests.github_server.render import label_json
from tests.github_server.render_pulls import (
    FACES,
    comment_json,
    issue_json,
    labels_json,
    reaction_json,
)
from tests.github_server.routes_pulls import check_body, set_state
from tests.github_server.routing import Call, Reply, Route, page
from tests.github_server.world import World


def find_issue(call: Call) -> Issue:
    """The issue or pull request in the path; a token needs the permission for the kind it is."""
    number = call.number("issue_number")
    if number in call.repo.deleted_issues:
        raise ApiError(410, "This issue was deleted")
    found = call.repo.issues.get(number)
    if found is None:
        raise not_found()
    _guard_kind(call, found)
    return found


def _guard_kind(call: Call, issue: Issue) -> None:
    """On a pull request either permission will do; on an issue only `issues`."""
    level = "read" if call.method == "GET" else "write"
    if (
        call.actor.kind == "installation"
        and issue.pull is None
        and not call.actor.may("issues", level)
    ):
        raise ApiError(403, "Resource not accessible by integration")


def find_comment(call: Call) -> Comment:
    """The comment in the path."""
    found = call.world.comments.get(call.number("comment_id"))
    if found is None or found.repository != call.repo.id:
        raise not_found()
    _guard_kind(call, call.repo.issues[found.number])
    return found


def get_issue(call: Call) -> Reply:
    """GET /repos/{owner}/{repo}/issues/{issue_number}."""
    return Reply(issue_json(call.world, find_issue(call)))


def list_issues(call: Call) -> Reply:
    """GET /repos/{owner}/{repo}/issues: newest first, pull requests among them."""
    query = call.query
    found = [
        one
        for one in sorted(call.repo.issues.values(), key=lambda one: -one.number)
        if query.get("state", "open") in {"all", one.state}
        and query.get("creator", one.user).lower() == one.user.lower()
    ]
    if query.get("direction") == "asc":
        found.reverse()
    return page(call, [issue_json(call.world, one) for one in found])


def open_issue(hub: Hub, repo: Repository, title: str, body: str | None, user: str) -> Issue:
    """Open an issue and tell the world."""
    world, now = hub.world, hub.world.now()
    number = world.next_number(repo)
    issue = Issue(world.next_large_id(), repo.id, number, title, body, user, now, now)
    repo.issues[number] = issue
    events.issue_event(hub, issue, "opened", user)
    return issue


def create_issue(call: Call) -> Reply:
    """POST /repos/{owner}/{repo}/issues."""
    if not call.repo.has_issues:
        raise ApiError(410, "Issues are disabled for this repo")
    title, body = call.field("title"), call.body.get("body")
    check_body("Issue", body)
    issue = open_issue(call.hub, call.repo, title, body, call.actor.login)
    return Reply(issue_json(call.world, issue), 201)


def edit_issue(hub: Hub, issue: Issue, new: Json, actor: str) -> None:
    """Change title and body and tell the world what they were; what stays the same tells nobody."""
    changes: Json = {}
    for name in ("title", "body"):
        old = getattr(issue, name)
        if name in new and new[name] != old:
            changes[name] = {"from": old or ""}
            setattr(issue, name, new[name])
    issue.updated_at = hub.world.now()
    if changes and issue.pull is None:
        events.issue_event(hub, issue, "edited", actor, changes)


def set_issue_state(hub: Hub, issue: Issue, state: str, actor: str) -> None:
    """Close or reopen an issue or a pull request and tell the world."""
    if issue.pull:
        set_state(hub, issue, state, actor)
        return
    issue.state = state
    issue.closed_at = hub.world.now() if state == "closed" else None
    issue.closed_by = actor if state == "closed" else None
    events.issue_event(hub, issue, "closed" if state == "closed" else "reopened", actor)


def update_issue(call: Call) -> Reply:
    """PATCH /repos/{owner}/{repo}/issues/{issue_number}."""
    issue, body = find_issue(call), call.body
    check_body("Issue", body.get("body"))
    edit_issue(call.hub, issue, body, call.actor.login)
    if body.get("state") in {"open", "closed"} and body["state"] != issue.state:
        set_issue_state(call.hub, issue, body["state"], call.actor.login)
    return Reply(issue_json(call.world, issue))


def list_comments(call: Call) -> Reply:
    """GET /repos/{owner}/{repo}/issues/{issue_number}/comments."""
    world = call.world
    return page(
        call, [comment_json(world, world.comments[number]) for number in find_issue(call).comments]
    )


def add_comment(hub: Hub, issue: Issue, user: str, body: str, app: int | None = None) -> Comment:
    """Comment on an issue or a pull request and tell the world."""
    world = hub.world
    now = world.now()
    comment = Comment(
        world.next_large_id(), issue.repository, issue.number, user, body, now, now, app
    )
    world.comments[comment.id] = comment
    issue.comments.append(comment.id)
    issue.updated_at = now
    events.comment_event(hub, comment, "created", user)
    return comment


def create_comment(call: Call) -> Reply:
    """POST /repos/{owner}/{repo}/issues/{issue_number}/comments."""
    issue, body = find_issue(call), call.field("body")
    check_body("IssueComment", body)
    if not body.strip():
        raise validation("IssueComment", "body", "unprocessable", "Body cannot be blank")
    app = (call.actor.app or call.world.app.id) if call.actor.kind == "installation" else None
    return Reply(
        comment_json(call.world, add_comment(call.hub, issue, call.actor.login, body, app)), 201
    )


def get_comment(call: Call) -> Reply:
    """GET /repos/{owner}/{repo}/issues/comments/{comment_id}."""
    return Reply(comment_json(call.world, find_comment(call)))


def update_comment(call: Call) -> Reply:
    """PATCH /repos/{owner}/{repo}/issues/comments/{comment_id}."""
    comment, body = find_comment(call), call.field("body")
    check_body("IssueComment", body)
    if call.actor.kind == "installation" and comment.user != call.actor.login:
        raise ApiError(403, "Resource not accessible by integration")
    comment.body, comment.updated_at = body, call.world.now()
    events.comment_event(call.hub, comment, "edited", call.actor.login)
    return Reply(comment_json(call.world, comment))


def delete_comment(call: Call) -> Reply:
    """DELETE /repos/{owner}/{repo}/issues/comments/{comment_id}."""
    comment = find_comment(call)
    events.comment_event(call.hub, comment, "deleted", call.actor.login)
    call.repo.issues[comment.number].comments.remove(comment.id)
    del call.world.comments[comment.id]
    return Reply(status=204)


def react(call: Call, reactions: list[Reaction]) -> Reply:
    """Add a reaction, or answer 200 with the one already there."""
    content = call.field("content")
    if content not in FACES:
        raise invalid(f"Invalid request.\n\n{content} is not a possible reaction.")
    for one in reactions:
        if (one.user, one.content) == (call.actor.login, content):
            return Reply(reaction_json(call.world, one))
    made = Reaction(call.world.next_id(), call.actor.login, content, call.world.now())
    reactions.append(made)
    return Reply(reaction_json(call.world, made), 201)


def react_to_issue(call: Call) -> Reply:
    """POST /repos/{owner}/{repo}/issues/{issue_number}/reactions."""
    return react(call, find_issue(call).reactions)


def react_to_comment(call: Call) -> Reply:
    """POST /repos/{owner}/{repo}/issues/comments/{comment_id}/reactions."""
    return react(call, find_comment(call).reactions)


def list_comment_reactions(call: Call) -> Reply:
    """GET /repos/{owner}/{repo}/issues/comments/{comment_id}/reactions."""
    return page(call, [reaction_json(call.world, one) for one in find_comment(call).reactions])


def delete_comment_reaction(call: Call) -> Reply:
    """DELETE /repos/{owner}/{repo}/issues/comments/{comment_id}/reactions/{reaction_id}."""
    comment, number = find_comment(call), call.number("reaction_id")
    if all(one.id != number for one in comment.reactions):
        raise not_found()
    comment.reactions = [one for one in comment.reactions if one.id != number]
    return Reply(status=204)


def ensure_label(world: World, repo: Repository, name: str) -> Label:
    """A label of the repository, made when it is new (adding an unknown label to an issue makes it)."""
    return repo.labels.setdefault(name.lower(), Label(world.next_id(), name))


def list_issue_labels(call: Call) -> Reply:
    """GET /repos/{owner}/{repo}/issues/{issue_number}/labels."""
    return page(call, labels_json(call.world, call.repo, find_issue(call)))


def put_labels(hub: Hub, issue: Issue, names: list[str], actor: str) -> None:
    """Put labels on an issue or a pull request and tell the world."""
    repo = hub.world.repositories[issue.repository]
    for name in names:
        label = ensure_label(hub.world, repo, name)
        if label.name in issue.labels:
            continue
        issue.labels.append(label.name)
        if issue.pull:
            events.pull_event(
                hub, issue, "labeled", actor, {"label": label_json(hub.world, repo, label)}
            )


def take_label(hub: Hub, issue: Issue, name: str, actor: str) -> None:
    """Take a label off and tell the world."""
    repo = hub.world.repositories[issue.repository]
    if name not in issue.labels:
        raise ApiError(404, "Label does not exist")
    issue.labels.remove(name)
    if issue.pull:
        more = {"label": label_json(hub.world, repo, repo.labels[name.lower()])}
        events.pull_event(hub, issue, "unlabeled", actor, more)


def add_labels(call: Call) -> Reply:
    """POST /repos/{owner}/{repo}/issues/{issue_number}/labels."""
    issue = find_issue(call)
    given = call.body.get("labels", []) if isinstance(call.body, dict) else call.body or []
    names = [one["name"] if isinstance(one, dict) else one for one in given]
    put_labels(call.hub, issue, names, call.actor.login)
    return Reply(labels_json(call.world, call.repo, issue))


def remove_label(call: Call) -> Reply:
    """DELETE /repos/{owner}/{repo}/issues/{issue_number}/labels/{name}."""
    issue = find_issue(call)
    take_label(call.hub, issue, call.params["name"], call.actor.login)
    return Reply(labels_json(call.world, call.repo, issue))


def list_labels(call: Call) -> Reply:
    """GET /repos/{owner}/{repo}/labels."""
    return page(
        call, [label_json(call.world, call.repo, label) for label in call.repo.labels.values()]
    )


def create_label(call: Call) -> Reply:
    """POST /repos/{owner}/{repo}/labels."""
    name = call.field("name")
    if name.lower() in call.repo.labels:
        raise validation("Label", "name", "already_exists")
    label = ensure_label(call.world, call.repo, name)
    label.color = call.body.get("color") or label.color
    label.description = call.body.get("description")
    return Reply(label_json(call.world, call.repo, label), 201)


def get_label(call: Call) -> Reply:
    """GET /repos/{owner}/{repo}/labels/{name}."""
    found = call.repo.labels.get(call.params["name"].lower())
    if found is None:
        raise not_found()
    return Reply(label_json(call.world, call.repo, found))


REPO = "/repos/{owner}/{repo}"
ISSUE = f"{REPO}/issues/{{issue_number}}"
COMMENT = f"{REPO}/issues/comments/{{comment_id}}"
ROUTES = (
    Route("GET", f"{REPO}/issues", list_issues),
    Route("POST", f"{REPO}/issues", create_issue),
    Route("GET", ISSUE, get_issue),
    Route("PATCH", ISSUE, update_issue),
    Route("GET", f"{ISSUE}/comments", list_comments),
    Route("POST", f"{ISSUE}/comments", create_comment),
    Route("POST", f"{ISSUE}/reactions", react_to_issue),
    Route("GET", f"{ISSUE}/labels", list_issue_labels),
    Route("POST", f"{ISSUE}/labels", add_labels),
    Route("DELETE", f"{ISSUE}/labels/{{name}}", remove_label),
    Route("GET", COMMENT, get_comment),
    Route("PATCH", COMMENT, update_comment),
    Route("DELETE", COMMENT, delete_comment),
    Route("POST", f"{COMMENT}/reactions", react_to_comment),
    Route("GET", f"{COMMENT}/reactions", list_comment_reactions),
    Route("DELETE", f"{COMMENT}/reactions/{{reaction_id}}", delete_comment_reaction),
    Route("GET", f"{REPO}/labels", list_labels),
    Route("POST", f"{REPO}/labels", create_label),
    Route("GET", f"{REPO}/labels/{{name}}", get_label),
)
