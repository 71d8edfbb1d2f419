"""Commit statuses: what older CIs set instead of check runs."""

from tests.github_server import events
from tests.github_server.entities import Json, Repository
from tests.github_server.entities_reviews import Status
from tests.github_server.errors import invalid, not_found
from tests.github_server.hub import Hub
from tests.github_server.render import repository_json
from tests.github_server.render_git import api
from tests.github_server.render_reviews import status_json
from tests.github_server.routing import Call, Reply, Route, page
from tests.github_server.world import World


def statuses_of(world: World, repo: Repository, sha: str) -> list[Status]:
    """All statuses of a commit, newest first."""
    return [one for one in reversed(world.statuses) if (one.repository, one.sha) == (repo.id, sha)]


def latest_of(world: World, repo: Repository, sha: str) -> list[Status]:
    """The newest status of every context; contexts differ only beyond their case."""
    found: dict[str, Status] = {}
    for one in statuses_of(world, repo, sha):
        found.setdefault(one.context.lower(), one)
    return list(found.values())


def set_status(hub: Hub, status: Status) -> None:
    """Keep a status and tell the world."""
    hub.world.statuses.append(status)
    events.status_event(hub, status)


def create_status(call: Call) -> Reply:
    """POST /repos/{owner}/{repo}/statuses/{sha}."""
    sha, body = call.params["sha"], call.body
    if not call.repo.store.has(sha, "commit"):
        raise invalid(f"No commit found for SHA: {sha}")
    made = Status(
        call.world.next_large_id(),
        call.repo.id,
        sha,
        call.field("state"),
        body.get("context") or "default",
        call.actor.login,
        call.world.now(),
        body.get("description"),
        body.get("target_url"),
    )
    set_status(call.hub, made)
    return Reply(status_json(call.world, made), 201)


def _sha(call: Call) -> str:
    found = call.repo.store.resolve(call.params["ref"])
    if found is None:
        raise not_found()
    return found


def list_statuses(call: Call) -> Reply:
    """GET /repos/{owner}/{repo}/commits/{ref}/statuses."""
    found = statuses_of(call.world, call.repo, _sha(call))
    return page(call, [status_json(call.world, one) for one in found])


def combined_status(call: Call) -> Reply:
    """GET /repos/{owner}/{repo}/commits/{ref}/status: the latest of every context; pending while there is none."""
    sha = _sha(call)
    latest = latest_of(call.world, call.repo, sha)
    states = {one.state for one in latest}
    state = (
        "failure"
        if states & {"failure", "error"}
        else "success"
        if states == {"success"}
        else "pending"
    )
    listed = page(call, [_without_creator(call, one) for one in latest], "statuses")
    root = api(call.world, call.repo)
    found = {"state": state, "sha": sha, "repository": repository_json(call.world, call.repo)}
    listed.body |= {
        **found,
        "commit_url": f"{root}/commits/{sha}",
        "url": f"{root}/commits/{sha}/status",
    }
    return listed


def _without_creator(call: Call, status: Status) -> Json:
    return {
        name: value for name, value in status_json(call.world, status).items() if name != "creator"
    }


REPO = "/repos/{owner}/{repo}"
ROUTES = (
    Route("POST", f"{REPO}/statuses/{{sha}}", create_status),
    Route("GET", f"{REPO}/commits/{{ref}}/statuses", list_statuses),
    Route("GET", f"{REPO}/commits/{{ref}}/status", combined_status),
)
