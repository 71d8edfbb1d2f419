"""The workflows of a repository: the files of its default branch."""

from tests.github_server.gitstore import GitFailed
from tests.github_server.render_git import api
from tests.github_server.routing import Call, Reply, Route, page

FOLDER = ".github/workflows"


def list_workflows(call: Call) -> Reply:
    """GET /repos/{owner}/{repo}/actions/workflows."""
    repo, world = call.repo, call.world
    head = repo.store.ref(f"refs/heads/{repo.default_branch}")
    try:
        entries = repo.store.tree(head, FOLDER) if head else []
    except GitFailed:
        entries = []
    found = []
    for one in entries:
        path = f"{FOLDER}/{one.path}"
        number = world.workflow_ids.setdefault((repo.id, path), world.next_id())
        url = f"{api(world, repo)}/actions/workflows/{number}"
        web = f"{world.web_url}/{repo.full_name}"
        found.append(
            {
                "id": number,
                "node_id": f"W_{number}",
                "name": one.path.removesuffix(".yml"),
                "path": path,
                "state": "active",
                "created_at": repo.created_at,
                "updated_at": repo.created_at,
                "url": url,
                "html_url": f"{web}/blob/{repo.default_branch}/{path}",
                "badge_url": f"{web}/workflows/{one.path}/badge.svg",
            }
        )
    return page(call, found, "workflows")


ROUTES = (Route("GET", "/repos/{owner}/{repo}/actions/workflows", list_workflows),)
"""What Actions knows besides runs."""
