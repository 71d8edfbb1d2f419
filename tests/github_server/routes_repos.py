"""Repositories, commits, comparisons, branches, people and the server itself."""

import re

from tests.github_server.errors import ApiError, not_found
from tests.github_server.render import full_repository_json, public_user_json, user_json
from tests.github_server.render_git import api, branch_json, change_json, commit_json, html
from tests.github_server.render_pulls import pull_simple_json
from tests.github_server.routing import Call, Reply, Route, page
from tests.github_server.rules import rules_json


def get_repository(call: Call) -> Reply:
    """GET /repos/{owner}/{repo}."""
    return Reply(full_repository_json(call.world, call.repo))


def commit_of(call: Call, name: str) -> str:
    """The commit a name in the request stands for.

    Raises:
        ApiError: 422 for a SHA nobody knows, 404 for a name nobody knows.
    """
    found = call.repo.store.resolve(name)
    if found is None:
        if re.fullmatch("[0-9a-f]{40}", name):
            raise ApiError(422, f"No commit found for SHA: {name}")
        raise not_found()
    return found


def list_commits(call: Call) -> Reply:
    """GET /repos/{owner}/{repo}/commits."""
    start = commit_of(call, call.query.get("sha") or call.repo.default_branch)
    path = call.query.get("path")
    shas = call.repo.store.history(start, *(["--", path] if path else []))
    return page(call, [commit_json(call.world, call.repo, sha) for sha in shas])


def get_commit(call: Call) -> Reply:
    """GET /repos/{owner}/{repo}/commits/{ref}."""
    repo = call.repo
    sha = commit_of(call, call.params["ref"])
    if "sha" in call.headers.get("accept", ""):
        return Reply(sha.encode(), media_type="application/vnd.github.sha; charset=utf-8")
    found = commit_json(call.world, repo, sha)
    parents = repo.store.commit(sha).parents
    empty = repo.store.write_tree(None, [])
    changes = repo.store.changes(parents[0] if parents else empty, sha)
    added, removed = sum(one.additions for one in changes), sum(one.deletions for one in changes)
    found["stats"] = {"additions": added, "deletions": removed, "total": added + removed}
    found["files"] = [change_json(call.world, repo, one, sha) for one in changes]
    return Reply(found)


def list_commit_pulls(call: Call) -> Reply:
    """GET /repos/{owner}/{repo}/commits/{commit_sha}/pulls: heads and merges in this repository."""
    sha = commit_of(call, call.params["commit_sha"])
    found = [
        issue
        for issue in call.world.pulls(call.repo)
        if issue.pull
        and (
            (issue.pull.head_sha == sha and issue.pull.head_repository == call.repo.id)
            or (issue.pull.merged_at and issue.pull.merge_commit_sha == sha)
        )
    ]
    return page(call, [pull_simple_json(call.world, issue) for issue in found])


def compare(call: Call) -> Reply:
    """GET /repos/{owner}/{repo}/compare/{basehead}."""
    repo, world = call.repo, call.world
    base_name, dots, head_name = call.params["basehead"].partition("...")
    if not dots:
        raise not_found()
    base, head = (_side(call, name) for name in (base_name, head_name))
    merge_base = repo.store.merge_base(base, head)
    if merge_base is None:
        raise ApiError(404, f"No common ancestor between {base_name} and {head_name}.")
    ahead, behind = repo.store.history(f"{base}..{head}"), repo.store.history(f"{head}..{base}")
    status = (
        "identical"
        if base == head
        else "diverged"
        if ahead and behind
        else "ahead"
        if ahead
        else "behind"
    )
    page_url = f"{html(world, repo)}/compare/{call.params['basehead']}"
    return Reply(
        {
            "url": f"{api(world, repo)}/compare/{call.params['basehead']}",
            "html_url": page_url,
            "permalink_url": page_url,
            "diff_url": f"{page_url}.diff",
            "patch_url": f"{page_url}.patch",
            "base_commit": commit_json(world, repo, base),
            "merge_base_commit": commit_json(world, repo, merge_base),
            "status": status,
            "ahead_by": len(ahead),
            "behind_by": len(behind),
            "total_commits": len(ahead),
            "commits": [commit_json(world, repo, sha) for sha in reversed(ahead)],
            "files": [
                change_json(world, repo, one, head) for one in repo.store.changes(merge_base, head)
            ][:300],
        }
    )


def _side(call: Call, name: str) -> str:
    """One side of a comparison: a ref or SHA of this repository, or `owner:branch` of a fork of it."""
    owner, colon, branch = name.partition(":")
    if not colon:
        found = call.repo.store.resolve(name)
    else:
        found = None
        for repo in call.world.repositories.values():
            if repo.owner.lower() == owner.lower() and call.repo.id in {repo.id, repo.parent}:
                found = repo.store.resolve(branch)
                if found and repo is not call.repo:
                    call.repo.store.run("fetch", "--quiet", str(repo.store.path), found)
    if found is None:
        raise not_found()
    return found


def list_branches(call: Call) -> Reply:
    """GET /repos/{owner}/{repo}/branches."""
    heads = call.repo.store.refs("refs/heads/").items()
    return page(
        call,
        [
            branch_json(call.world, call.repo, name.removeprefix("refs/heads/"), sha)
            for name, sha in heads
        ],
    )


def get_branch(call: Call) -> Reply:
    """GET /repos/{owner}/{repo}/branches/{branch}."""
    name = call.params["branch"]
    sha = call.repo.store.ref(f"refs/heads/{name}")
    if sha is None:
        raise ApiError(404, "Branch not found")
    root = f"{api(call.world, call.repo)}/branches/{name}"
    contexts = {"enforcement_level": "off", "contexts": [], "checks": []}
    return Reply(
        {
            "name": name,
            "commit": commit_json(call.world, call.repo, sha),
            "_links": {"self": root, "html": f"{html(call.world, call.repo)}/tree/{name}"},
            "protected": bool(call.repo.rules.get(name)),
            "protection": {"enabled": False, "required_status_checks": contexts},
            "protection_url": f"{root}/protection",
        }
    )


def get_branch_rules(call: Call) -> Reply:
    """GET /repos/{owner}/{repo}/rules/branches/{branch}."""
    return page(call, rules_json(call.repo, call.params["branch"]))


def get_permission(call: Call) -> Reply:
    """GET /repos/{owner}/{repo}/collaborators/{username}/permission."""
    login = call.params["username"]
    if login.lower() not in call.world.users:
        raise not_found()
    level = call.world.permission(call.repo, login)
    role = call.world.role(call.repo, login)
    order = ("none", "read", "triage", "write", "maintain", "admin")
    names = {"read": "pull", "write": "push"}
    flags = {
        names.get(name, name): index <= order.index(role)
        for index, name in enumerate(order)
        if index
    }
    user = {**user_json(call.world, login), "permissions": flags, "role_name": role}
    return Reply({"permission": level, "role_name": role, "user": user})


def check_collaborator(call: Call) -> Reply:
    """GET /repos/{owner}/{repo}/collaborators/{username}: 204 for one, 404 for others."""
    login = call.params["username"].lower()
    if not any(
        name.lower() == login and role != "none" for name, role in call.repo.permissions.items()
    ):
        raise not_found()
    return Reply(status=204)


def get_user(call: Call) -> Reply:
    """GET /users/{username}."""
    found = call.world.users.get(call.params["username"].lower())
    if found is None and call.params["username"] == call.world.app.bot:
        found = call.world.user(call.world.app.bot)
    if found is None:
        raise not_found()
    return Reply(public_user_json(call.world, found))


def get_own_user(call: Call) -> Reply:
    """GET /user: for people only."""
    return Reply(public_user_json(call.world, call.world.user(call.actor.login)))


def get_meta(_call: Call) -> Reply:
    """GET /meta: hooks come from loopback here."""
    return Reply(
        {
            "verifiable_password_authentication": False,
            "hooks": ["127.0.0.0/8", "::1/128"],
            "git": ["127.0.0.1/32"],
        }
    )


def get_rate_limit(_call: Call) -> Reply:
    """GET /rate_limit."""
    bucket = {"limit": 5000, "remaining": 4999, "reset": 4_102_444_800, "used": 1}
    return Reply(
        {
            "resources": {
                "core": bucket,
                "search": {**bucket, "limit": 30, "remaining": 30, "used": 0},
            },
            "rate": bucket,
        }
    )


ROUTES = (
    Route("GET", "/repos/{owner}/{repo}", get_repository),
    Route("GET", "/repos/{owner}/{repo}/commits", list_commits),
    Route("GET", "/repos/{owner}/{repo}/commits/{ref}", get_commit),
    Route("GET", "/repos/{owner}/{repo}/commits/{commit_sha}/pulls", list_commit_pulls),
    Route("GET", "/repos/{owner}/{repo}/compare/{basehead}", compare),
    Route("GET", "/repos/{owner}/{repo}/branches", list_branches),
    Route("GET", "/repos/{owner}/{repo}/branches/{branch}", get_branch),
    Route("GET", "/repos/{owner}/{repo}/rules/branches/{branch}", get_branch_rules),
    Route("GET", "/repos/{owner}/{repo}/collaborators/{username}", check_collaborator),
    Route("GET", "/repos/{owner}/{repo}/collaborators/{username}/permission", get_permission),
    Route("GET", "/users/{username}", get_user),
    Route("GET", "/user", get_own_user),
    Route("GET", "/meta", get_meta),
    Route("GET", "/rate_limit", get_rate_limit),
)
