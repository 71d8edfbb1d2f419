"""Commits, comparisons, contents and refs in GitHub's JSON."""

import base64
from urllib.parse import quote

from tests.github_server.entities import Json, Repository
from tests.github_server.gitdiff import Change
from tests.github_server.gitstore import Commit, Entry, Person
from tests.github_server.render import node, user_json
from tests.github_server.world import World

UNSIGNED = {
    "verified": False,
    "reason": "unsigned",
    "signature": None,
    "payload": None,
    "verified_at": None,
}


def api(world: World, repo: Repository) -> str:
    """The REST address of a repository."""
    return f"{world.api_url}/repos/{repo.full_name}"


def html(world: World, repo: Repository) -> str:
    """The web address of a repository."""
    return f"{world.web_url}/{repo.full_name}"


def verification_json(repo: Repository, commit: Commit) -> Json:
    """Whether GitHub vouches for a commit."""
    if commit.sha not in repo.store.signed:
        return dict(UNSIGNED)
    signature = "-----BEGIN PGP SIGNATURE-----\n\nlocal\n-----END PGP SIGNATURE-----\n"
    payload = f"tree {commit.tree}\n\n{commit.message}"
    at = commit.committer.date
    return {
        "verified": True,
        "reason": "valid",
        "signature": signature,
        "payload": payload,
        "verified_at": at,
    }


def person_json(person: Person) -> Json:
    """An author inside a commit."""
    return {"name": person.name, "email": person.email, "date": person.date}


def git_commit_json(world: World, repo: Repository, commit: Commit) -> Json:
    """A commit of the git data API."""
    root, page = api(world, repo), html(world, repo)
    return {
        "sha": commit.sha,
        "node_id": f"C_{commit.sha}",
        "url": f"{root}/git/commits/{commit.sha}",
        "html_url": f"{page}/commit/{commit.sha}",
        "author": person_json(commit.author),
        "committer": person_json(commit.committer),
        "message": commit.message,
        "tree": {"sha": commit.tree, "url": f"{root}/git/trees/{commit.tree}"},
        "parents": [
            {"sha": sha, "url": f"{root}/git/commits/{sha}", "html_url": f"{page}/commit/{sha}"}
            for sha in commit.parents
        ],
        "verification": verification_json(repo, commit),
    }


def account_of(world: World, person: Person) -> Json | None:
    """The account behind a commit's e-mail address, when it is one of ours."""
    if person.email == "noreply@github.com":
        return user_json(world, world.user("web-flow").login)
    login = person.email.removesuffix("@users.noreply.github.com").partition("+")[2]
    return user_json(world, login) if login.lower() in world.users else None


def commit_json(world: World, repo: Repository, sha: str) -> Json:
    """A commit of the repository API, without files."""
    commit = repo.store.commit(sha)
    root, page = api(world, repo), html(world, repo)
    return {
        "sha": commit.sha,
        "node_id": f"C_{commit.sha}",
        "url": f"{root}/commits/{commit.sha}",
        "html_url": f"{page}/commit/{commit.sha}",
        "comments_url": f"{root}/commits/{commit.sha}/comments",
        "commit": {
            "url": f"{root}/git/commits/{commit.sha}",
            "author": person_json(commit.author),
            "committer": person_json(commit.committer),
            "message": commit.message,
            "tree": {"sha": commit.tree, "url": f"{root}/git/trees/{commit.tree}"},
            "comment_count": 0,
            "verification": verification_json(repo, commit),
        },
        "author": account_of(world, commit.author),
        "committer": account_of(world, commit.committer),
        "parents": [
            {
                "sha": parent,
                "url": f"{root}/commits/{parent}",
                "html_url": f"{page}/commit/{parent}",
            }
            for parent in commit.parents
        ],
    }


def simple_commit_json(repo: Repository, sha: str) -> Json:
    """The short form inside checks and runs."""
    commit = repo.store.commit(sha)
    return {
        "id": commit.sha,
        "tree_id": commit.tree,
        "message": commit.message,
        "timestamp": commit.committer.date,
        "author": {"name": commit.author.name, "email": commit.author.email},
        "committer": {"name": commit.committer.name, "email": commit.committer.email},
    }


def change_json(world: World, repo: Repository, change: Change, sha: str) -> Json:
    """One file of a comparison, a commit or a pull request."""
    root, page, path = api(world, repo), html(world, repo), quote(change.path)
    found: Json = {
        "sha": change.sha,
        "filename": change.path,
        "status": change.status,
        "additions": change.additions,
        "deletions": change.deletions,
        "changes": change.additions + change.deletions,
        "blob_url": f"{page}/blob/{sha}/{path}",
        "raw_url": f"{page}/raw/{sha}/{path}",
        "contents_url": f"{root}/contents/{path}?ref={sha}",
    }
    if change.patch is not None:
        found["patch"] = change.patch
    if change.old_path is not None:
        found["previous_filename"] = change.old_path
    return found


def ref_json(world: World, repo: Repository, name: str, sha: str) -> Json:
    """A ref."""
    root = api(world, repo)
    return {
        "ref": name,
        "node_id": f"REF_{repo.id}_{name}",
        "url": f"{root}/git/{quote(name)}",
        "object": {"type": "commit", "sha": sha, "url": f"{root}/git/commits/{sha}"},
    }


def branch_json(world: World, repo: Repository, name: str, sha: str) -> Json:
    """A branch as lists show it."""
    commit = {"sha": sha, "url": f"{api(world, repo)}/commits/{sha}"}
    return {"name": name, "commit": commit, "protected": bool(repo.rules.get(name))}


def content_json(world: World, repo: Repository, entry: Entry, ref: str) -> Json:
    """An entry of a folder."""
    root, page, path = api(world, repo), html(world, repo), quote(entry.path)
    kind = {"tree": "dir", "commit": "submodule"}.get(
        entry.type, "symlink" if entry.mode == "120000" else "file"
    )
    url = f"{root}/contents/{path}?ref={quote(ref, safe='')}"
    git_url = f"{root}/git/{entry.type}s/{entry.sha}"
    html_url = f"{page}/{'tree' if kind == 'dir' else 'blob'}/{quote(ref)}/{path}"
    return {
        "type": kind,
        "size": entry.size or 0,
        "name": entry.path.rsplit("/", 1)[-1],
        "path": entry.path,
        "sha": entry.sha,
        "url": url,
        "git_url": git_url,
        "html_url": html_url,
        "download_url": f"{page}/raw/{quote(ref)}/{path}" if kind == "file" else None,
        "_links": {"git": git_url, "html": html_url, "self": url},
    }


def file_json(world: World, repo: Repository, entry: Entry, ref: str) -> Json:
    """A file with its content (above 1 MB without, as GitHub does)."""
    small = (entry.size or 0) <= 1_000_000
    content = base64.encodebytes(repo.store.blob(entry.sha)).decode() if small else ""
    found = content_json(world, repo, entry, ref)
    if found["type"] == "symlink":
        return {**found, "target": repo.store.blob(entry.sha).decode("utf-8", "replace")}
    return {**found, "content": content, "encoding": "base64" if small else "none"}


def blob_json(world: World, repo: Repository, sha: str) -> Json:
    """A blob of the git data API."""
    content = repo.store.blob(sha)
    return {
        "sha": sha,
        "node_id": node("B", int(sha[:8], 16)),
        "size": len(content),
        "url": f"{api(world, repo)}/git/blobs/{sha}",
        "content": base64.encodebytes(content).decode(),
        "encoding": "base64",
    }
