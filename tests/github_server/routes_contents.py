"""Files through the contents API: read, written and removed, one commit each."""

import base64
import binascii

from tests.github_server import events
from tests.github_server.entities import Json
from tests.github_server.errors import ApiError, invalid, not_found
from tests.github_server.gitstore import Entry, GitFailed
from tests.github_server.render_git import content_json, file_json, git_commit_json
from tests.github_server.routes_git import (
    guard_workflows,
    malformed,
    person_of,
    signs_for,
    web_flow,
)
from tests.github_server.routing import Call, Reply, Route
from tests.github_server.rules import guard_rules


def get_contents(call: Call) -> Reply:
    """GET /repos/{owner}/{repo}/contents/{path}."""
    repo, path = call.repo, call.params.get("path", "").strip("/")
    ref = call.query.get("ref") or repo.default_branch
    sha = repo.store.resolve(ref)
    if sha is None:
        raise ApiError(404, f"No commit found for the ref {ref}")
    entry = _entry(call, sha, path)
    if entry is None:
        prefix = f"{path}/" if path else ""
        listed = [
            Entry(one.mode, one.type, one.sha, one.size, prefix + one.path)
            for one in repo.store.tree(sha, path)
        ]
        return Reply([content_json(call.world, repo, one, ref) for one in listed])
    if "raw" in call.headers.get("accept", ""):
        return Reply(
            repo.store.blob(entry.sha), media_type="application/vnd.github.raw; charset=utf-8"
        )
    return Reply(file_json(call.world, repo, entry, ref))


def _entry(call: Call, sha: str, path: str) -> Entry | None:
    """The file at a path, nothing for a folder, 404 for neither."""
    if not path:
        return None
    folder, _, name = path.rpartition("/")
    try:
        entries = call.repo.store.tree(sha, folder)
    except GitFailed as error:
        raise not_found() from error
    for entry in entries:
        if entry.path == name:
            return (
                None
                if entry.type == "tree"
                else Entry(entry.mode, entry.type, entry.sha, entry.size, path)
            )
    raise not_found()


def _commit(call: Call, blob: str | None) -> tuple[Json, bool]:
    """Commit one file to a branch (a blob, or nothing to remove it); the commit and whether the file is new."""
    repo, path, body = call.repo, call.params["path"].strip("/"), call.body
    branch = body.get("branch") or repo.default_branch
    if malformed(path):
        raise invalid("path contains a malformed path component")
    head = repo.store.ref(f"refs/heads/{branch}")
    if head is None:
        raise ApiError(404, f"Branch {branch} not found")
    try:
        before = _entry(call, head, path)
    except ApiError:
        before = None
    if before is None and blob is None:
        raise not_found()
    if before is not None and "sha" not in body:
        raise invalid('Invalid request.\n\n"sha" wasn\'t supplied.')
    if before is not None and body["sha"] != before.sha:
        raise ApiError(409, f"{path} does not match {body['sha']}")
    tree = repo.store.write_tree(head, [(before.mode if before else "100644", path, blob)])
    author = person_of(call, body.get("author"), call.world.person(call.actor.login))
    signs = signs_for(call, body)
    sha = repo.store.write_commit(
        tree, [head], call.field("message"), author, web_flow(call.world) if signs else None
    )
    repo.store.signed |= {sha} if signs else set()
    guard_workflows(call, sha)
    guard_rules(repo, f"refs/heads/{branch}", head, sha, status=409)
    events.set_branch(call.hub, repo, f"refs/heads/{branch}", sha, call.actor.login)
    return git_commit_json(call.world, repo, repo.store.commit(sha)), before is None


def put_contents(call: Call) -> Reply:
    """PUT /repos/{owner}/{repo}/contents/{path}."""
    try:
        data = base64.b64decode(call.field("content"))
    except binascii.Error as error:
        raise invalid("content is not valid Base64") from error
    blob, path = call.repo.store.write_blob(data), call.params["path"].strip("/")
    commit, new = _commit(call, blob)
    entry = Entry("100644", "blob", blob, len(data), path)
    ref = call.body.get("branch") or call.repo.default_branch
    return Reply(
        {"content": content_json(call.world, call.repo, entry, ref), "commit": commit},
        201 if new else 200,
    )


def delete_contents(call: Call) -> Reply:
    """DELETE /repos/{owner}/{repo}/contents/{path}."""
    return Reply({"content": None, "commit": _commit(call, None)[0]})


CONTENTS = "/repos/{owner}/{repo}/contents/{path}"
ROUTES = (
    Route("GET", CONTENTS, get_contents),
    Route("PUT", CONTENTS, put_contents),
    Route("DELETE", CONTENTS, delete_contents),
)
