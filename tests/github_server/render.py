"""Accounts, Apps, installations, repositories and labels in GitHub's JSON."""

from urllib.parse import quote

from tests.github_server.entities import App, Installation, Json, Label, Repository, User
from tests.github_server.gitstore import moment
from tests.github_server.world import World

REPOSITORY_URLS = {
    "archive": "/{archive_format}{/ref}",
    "assignees": "/assignees{/user}",
    "blobs": "/git/blobs{/sha}",
    "branches": "/branches{/branch}",
    "collaborators": "/collaborators{/collaborator}",
    "comments": "/comments{/number}",
    "commits": "/commits{/sha}",
    "compare": "/compare/{base}...{head}",
    "contents": "/contents/{+path}",
    "contributors": "/contributors",
    "deployments": "/deployments",
    "downloads": "/downloads",
    "events": "/events",
    "forks": "/forks",
    "git_commits": "/git/commits{/sha}",
    "git_refs": "/git/refs{/sha}",
    "git_tags": "/git/tags{/sha}",
    "hooks": "/hooks",
    "issue_comment": "/issues/comments{/number}",
    "issue_events": "/issues/events{/number}",
    "issues": "/issues{/number}",
    "keys": "/keys{/key_id}",
    "labels": "/labels{/name}",
    "languages": "/languages",
    "merges": "/merges",
    "milestones": "/milestones{/number}",
    "notifications": "/notifications{?since,all,participating}",
    "pulls": "/pulls{/number}",
    "releases": "/releases{/id}",
    "stargazers": "/stargazers",
    "statuses": "/statuses/{sha}",
    "subscribers": "/subscribers",
    "subscription": "/subscription",
    "tags": "/tags",
    "teams": "/teams",
    "trees": "/git/trees{/sha}",
}
MINIMAL = (
    "id",
    "node_id",
    "name",
    "full_name",
    "private",
    "owner",
    "html_url",
    "description",
    "fork",
    "url",
)
ZEROS = (
    "forks",
    "forks_count",
    "size",
    "stargazers_count",
    "watchers",
    "watchers_count",
)


def user_json(world: World, login: str) -> Json:
    """An account."""
    user = world.user(login)
    path = user.login.replace("[", "%5B").replace("]", "%5D")
    api = f"{world.api_url}/users/{path}"
    page = f"apps/{user.login.removesuffix('[bot]')}" if user.type == "Bot" else path
    return {
        "login": user.login,
        "id": user.id,
        "node_id": node("U", user.id),
        "avatar_url": f"{world.web_url}/avatars/u/{user.id}?v=4",
        "gravatar_id": "",
        "url": api,
        "html_url": f"{world.web_url}/{page}",
        "followers_url": f"{api}/followers",
        "following_url": api + "/following{/other_user}",
        "gists_url": api + "/gists{/gist_id}",
        "starred_url": api + "/starred{/owner}{/repo}",
        "subscriptions_url": f"{api}/subscriptions",
        "organizations_url": f"{api}/orgs",
        "repos_url": f"{api}/repos",
        "events_url": api + "/events{/privacy}",
        "received_events_url": f"{api}/received_events",
        "type": user.type,
        "user_view_type": "public",
        "site_admin": False,
    }


def public_user_json(world: World, user: User) -> Json:
    """An account with what `GET /users/{login}` adds."""
    names = ("company", "location", "email", "hireable", "bio", "twitter_username")
    return {
        **user_json(world, user.login),
        **dict.fromkeys(names),
        "name": user.login,
        "blog": "",
        **dict.fromkeys(("public_repos", "public_gists", "followers", "following"), 0),
        "created_at": "2024-01-01T00:00:00Z",
        "updated_at": "2024-01-01T00:00:00Z",
    }


def node(prefix: str, number: int) -> str:
    """A node id: unreadable, and different for every kind and number."""
    return f"{prefix}_kwDO{number:010x}"


def app_json(world: World, app: App) -> Json:
    """An App."""
    return {
        "id": app.id,
        "client_id": app.client_id,
        "slug": app.slug,
        "node_id": node("A", app.id),
        "owner": user_json(world, app.owner),
        "name": app.name,
        "description": "",
        "external_url": f"{world.web_url}/{app.slug}",
        "html_url": f"{world.web_url}/apps/{app.slug}",
        "created_at": "2024-01-01T00:00:00Z",
        "updated_at": "2024-01-01T00:00:00Z",
        "permissions": dict(app.permissions),
        "events": list(app.events),
    }


def installation_json(world: World, installation: Installation) -> Json:
    """An installation of our App."""
    api = f"{world.api_url}/app/installations/{installation.id}"
    account = user_json(world, installation.account)
    suspended = installation.suspended_at
    return {
        "id": installation.id,
        "client_id": world.app.client_id,
        "account": account,
        "repository_selection": "all" if installation.repository_ids is None else "selected",
        "access_tokens_url": f"{api}/access_tokens",
        "repositories_url": f"{world.api_url}/installation/repositories",
        "html_url": f"{world.web_url}/settings/installations/{installation.id}",
        "app_id": world.app.id,
        "app_slug": world.app.slug,
        "target_id": account["id"],
        "target_type": account["type"],
        "permissions": dict(installation.permissions),
        "events": list(world.app.events),
        "created_at": installation.created_at,
        "updated_at": installation.created_at,
        "single_file_name": None,
        "has_multiple_single_files": False,
        "single_file_paths": [],
        "suspended_by": user_json(world, installation.account) if suspended else None,
        "suspended_at": suspended,
    }


def repository_json(world: World, repo: Repository) -> Json:
    """A repository."""
    api, html = f"{world.api_url}/repos/{repo.full_name}", f"{world.web_url}/{repo.full_name}"
    open_issues = sum(issue.state == "open" for issue in repo.issues.values())
    return {
        "id": repo.id,
        "node_id": node("R", repo.id),
        "name": repo.name,
        "full_name": repo.full_name,
        "private": repo.private,
        "visibility": "private" if repo.private else "public",
        "owner": user_json(world, repo.owner),
        "html_url": html,
        "description": None,
        "fork": repo.parent is not None,
        "url": api,
        **{f"{name}_url": api + path for name, path in REPOSITORY_URLS.items()},
        "git_url": f"git://{html.rsplit('://', maxsplit=1)[-1]}.git",
        "ssh_url": f"git@localhost:{repo.full_name}.git",
        "clone_url": f"{html}.git",
        "svn_url": html,
        "mirror_url": None,
        "homepage": None,
        "language": None,
        "license": None,
        "default_branch": repo.default_branch,
        **dict.fromkeys(ZEROS, 0),
        "open_issues": open_issues,
        "open_issues_count": open_issues,
        "topics": [],
        "is_template": False,
        "has_issues": True,
        **dict.fromkeys(
            ("has_projects", "has_wiki", "has_pages", "has_downloads", "has_discussions"), False
        ),
        "archived": False,
        "disabled": False,
        "allow_forking": True,
        "web_commit_signoff_required": False,
        "pushed_at": repo.pushed_at,
        "created_at": repo.created_at,
        "updated_at": repo.pushed_at,
    }


def full_repository_json(world: World, repo: Repository) -> Json:
    """A repository with what only its own page has."""
    parent = world.repositories.get(repo.parent or 0)
    found = {**repository_json(world, repo), "network_count": 0, "subscribers_count": 0}
    return (
        {
            **found,
            "parent": repository_json(world, parent),
            "source": repository_json(world, parent),
        }
        if parent
        else found
    )


def minimal_repository_json(world: World, repo: Repository) -> Json:
    """A repository inside a workflow run: no settings, no counts."""
    whole = repository_json(world, repo)
    return {name: whole[name] for name in (*MINIMAL, *(f"{one}_url" for one in REPOSITORY_URLS))}


def hook_repository_json(world: World, repo: Repository, event: str) -> Json:
    """A repository as webhooks have it; a push shows it in an older form."""
    found = repository_json(world, repo)
    if event != "push":
        return found
    stamps = {name: int(moment(found[name]).timestamp()) for name in ("created_at", "pushed_at")}
    owner = {
        **found["owner"],
        "name": repo.owner,
        "email": f"{repo.owner}@users.noreply.github.com",
    }
    return {
        **found,
        **stamps,
        "owner": owner,
        "stargazers": 0,
        "master_branch": repo.default_branch,
    }


def repository_summary(world: World, repo: Repository) -> Json:
    """The three fields `pull_requests[]` of a check has."""
    return {"id": repo.id, "url": f"{world.api_url}/repos/{repo.full_name}", "name": repo.name}


def label_json(world: World, repo: Repository, label: Label) -> Json:
    """A label."""
    return {
        "id": label.id,
        "node_id": node("LA", label.id),
        "url": f"{world.api_url}/repos/{repo.full_name}/labels/{quote(label.name)}",
        "name": label.name,
        "color": label.color,
        "default": False,
        "description": label.description or "",
    }
