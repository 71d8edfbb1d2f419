"""The git data API: refs, blobs, trees and commits."""

import base64
import binascii
import re

from tests.github_server import events
from tests.github_server.entities import Json
from tests.github_server.errors import ApiError, invalid, not_found, validation
from tests.github_server.gitstore import ZERO, Entry, GitFailed, Person
from tests.github_server.render_git import api, blob_json, git_commit_json, ref_json
from tests.github_server.routing import Call, Reply, Route, page
from tests.github_server.rules import guard_rules
from tests.github_server.world import World

MODES = {"100644": "blob", "100755": "blob", "120000": "blob", "040000": "tree", "160000": "commit"}


def get_ref(call: Call) -> Reply:
    """GET /repos/{owner}/{repo}/git/ref/{ref}."""
    name = f"refs/{call.params['ref']}"
    sha = call.repo.store.ref(name)
    if sha is None:
        raise not_found()
    return Reply(ref_json(call.world, call.repo, name, sha))


def matching_refs(call: Call) -> Reply:
    """GET /repos/{owner}/{repo}/git/matching-refs/{ref}."""
    found = call.repo.store.refs(f"refs/{call.params['ref']}").items()
    return page(call, [ref_json(call.world, call.repo, name, sha) for name, sha in found])


def create_ref(call: Call) -> Reply:
    """POST /repos/{owner}/{repo}/git/refs."""
    store, name, sha = call.repo.store, call.field("ref"), call.field("sha")
    if not name.startswith("refs/") or name.count("/") < 2 or not store.valid_ref(name):
        raise invalid(f"{name} is not a valid ref name.")
    if not store.has(sha, "commit"):
        raise invalid("Object does not exist")
    if store.ref(name):
        raise invalid("Reference already exists")
    guard_workflows(call, sha)
    guard_rules(call.repo, name, ZERO, sha)
    try:
        events.set_branch(call.hub, call.repo, name, sha, call.actor.login)
    except GitFailed as error:
        raise invalid("Reference update failed") from error
    return Reply(ref_json(call.world, call.repo, name, sha), 201)


def guard_workflows(call: Call, sha: str) -> None:
    """Refuse commits with workflow files the repository has not seen, unless the token may write workflows."""
    if call.actor.kind != "installation" or call.actor.may("workflows", "write"):
        return
    store = call.repo.store
    log = store.text(
        "log", "--format=", "--name-only", sha, "--not", "--all", "--", ".github/workflows"
    )
    if log:
        name = log.splitlines()[0]
        raise ApiError(
            403,
            f"refusing to allow a GitHub App to create or update workflow `{name}` without `workflows` permission",
        )


def update_ref(call: Call) -> Reply:
    """PATCH /repos/{owner}/{repo}/git/refs/{ref}."""
    store, name, sha = call.repo.store, f"refs/{call.params['ref']}", call.field("sha")
    old = store.ref(name)
    if old is None:
        raise invalid("Reference does not exist")
    if not store.has(sha, "commit"):
        raise invalid("Object does not exist")
    if not call.body.get("force") and not store.is_ancestor(old, sha):
        raise invalid("Update is not a fast forward")
    guard_workflows(call, sha)
    guard_rules(call.repo, name, old, sha)
    events.set_branch(call.hub, call.repo, name, sha, call.actor.login)
    return Reply(ref_json(call.world, call.repo, name, sha))


def delete_ref(call: Call) -> Reply:
    """DELETE /repos/{owner}/{repo}/git/refs/{ref}."""
    name = f"refs/{call.params['ref']}"
    old = call.repo.store.ref(name)
    if old is None:
        raise invalid("Reference does not exist")
    guard_rules(call.repo, name, old, ZERO)
    events.set_branch(call.hub, call.repo, name, None, call.actor.login)
    return Reply(status=204)


def create_blob(call: Call) -> Reply:
    """POST /repos/{owner}/{repo}/git/blobs."""
    content = call.field("content")
    if call.body.get("encoding", "utf-8") == "base64":
        try:
            data = base64.b64decode(content)
        except binascii.Error as error:
            raise invalid("content is not valid Base64") from error
    else:
        data = content.encode()
    sha = call.repo.store.write_blob(data)
    return Reply({"sha": sha, "url": f"{api(call.world, call.repo)}/git/blobs/{sha}"}, 201)


def get_blob(call: Call) -> Reply:
    """GET /repos/{owner}/{repo}/git/blobs/{file_sha}."""
    sha = call.params["file_sha"]
    if not re.fullmatch("[0-9a-f]{40}", sha):
        raise invalid("The sha parameter must be exactly 40 characters and contain only [0-9a-f].")
    if not call.repo.store.has(sha, "blob"):
        raise not_found()
    if "raw" in call.headers.get("accept", ""):
        return Reply(
            call.repo.store.blob(sha), media_type="application/vnd.github.raw; charset=utf-8"
        )
    return Reply(blob_json(call.world, call.repo, sha))


def _tree_json(call: Call, sha: str, entries: list[Entry]) -> Json:
    root = f"{api(call.world, call.repo)}/git"
    listed: list[Json] = []
    for entry in entries:
        found: Json = {"path": entry.path, "mode": entry.mode, "type": entry.type, "sha": entry.sha}
        if entry.size is not None:
            found["size"] = entry.size
        if entry.type != "commit":
            found["url"] = f"{root}/{entry.type}s/{entry.sha}"
        listed.append(found)
    return {"sha": sha, "url": f"{root}/trees/{sha}", "tree": listed, "truncated": False}


def get_tree(call: Call) -> Reply:
    """GET /repos/{owner}/{repo}/git/trees/{tree_sha}."""
    sha = call.repo.store.resolve(call.params["tree_sha"], "tree")
    if sha is None:
        raise not_found()
    return Reply(
        _tree_json(call, sha, call.repo.store.tree(sha, recursive="recursive" in call.query))
    )


def create_tree(call: Call) -> Reply:
    """POST /repos/{owner}/{repo}/git/trees."""
    store, base = call.repo.store, call.body.get("base_tree")
    if base is not None:
        base = store.resolve(base, "tree")
        if base is None:
            raise not_found()
    changes = [_tree_change(call, entry) for entry in call.field("tree", list)]
    try:
        sha = store.write_tree(base, changes)
    except GitFailed as error:
        raise invalid("GitRPC::BadObjectState") from error
    return Reply(_tree_json(call, sha, store.tree(sha)), 201)


def malformed(path: str) -> bool:
    """Whether git or GitHub refuses a path."""
    parts = path.split("/")
    return bool({"", ".", "..", ".git"} & set(parts)) or "\n" in path or "\0" in path


def _tree_change(call: Call, entry: Json) -> tuple[str, str, str | None]:
    """One entry of the request, checked the way GitHub checks it."""
    path, mode = entry.get("path", ""), entry.get("mode", "100644")
    if malformed(path):
        raise invalid("tree.path contains a malformed path component")
    if mode not in MODES:
        raise invalid("Must supply a valid tree.mode")
    if "content" in entry:
        return mode, path, call.repo.store.write_blob(entry["content"].encode())
    if "sha" not in entry:
        raise invalid("Must supply either tree.sha or tree.content")
    sha = entry["sha"]
    if sha is not None and MODES[mode] != "commit" and not call.repo.store.has(sha, MODES[mode]):
        raise invalid(f"tree.sha {sha} is not a valid {MODES[mode]}")
    return mode, path, sha


def create_commit(call: Call) -> Reply:
    """POST /repos/{owner}/{repo}/git/commits."""
    store, body = call.repo.store, call.body
    tree, parents = call.field("tree"), body.get("parents") or []
    if not store.has(tree, "tree"):
        raise invalid("Tree SHA does not exist")
    if not all(store.has(parent, "commit") for parent in parents):
        raise invalid("Parent SHA does not exist or is not a commit object")
    author = person_of(call, body.get("author"), call.world.person(call.actor.login))
    committer = person_of(call, body.get("committer"), author)
    # GitHub commits and signs for a bot that names nobody.
    signs = signs_for(call, body)
    committer = web_flow(call.world) if signs else committer
    sha = store.write_commit(tree, parents, call.field("message"), author, committer)
    store.signed |= {sha} if signs else set()
    return Reply(git_commit_json(call.world, call.repo, store.commit(sha)), 201)


def signs_for(call: Call, body: Json) -> bool:
    """Whether GitHub signs a commit made over REST."""
    named = body.get("author") or body.get("committer")
    return call.actor.kind == "installation" and not named and not call.world.faults.unsigned_rest


def web_flow(world: World) -> Person:
    """GitHub itself, as it commits."""
    return Person("GitHub", "noreply@github.com", world.now())


def person_of(call: Call, given: Json | None, default: Person) -> Person:
    """An author from the request, else the caller."""
    if not given:
        return default
    if not given.get("name") or not given.get("email"):
        raise validation("Commit", "author", "missing_field")
    return Person(given["name"], given["email"], given.get("date") or call.world.now())


def get_commit(call: Call) -> Reply:
    """GET /repos/{owner}/{repo}/git/commits/{commit_sha}."""
    sha = call.params["commit_sha"]
    if not call.repo.store.has(sha, "commit"):
        raise not_found()
    return Reply(git_commit_json(call.world, call.repo, call.repo.store.commit(sha)))


GIT = "/repos/{owner}/{repo}/git"
ROUTES = (
    Route("GET", f"{GIT}/ref/{{ref}}", get_ref),
    Route("GET", f"{GIT}/matching-refs/{{ref}}", matching_refs),
    Route("POST", f"{GIT}/refs", create_ref),
    Route("PATCH", f"{GIT}/refs/{{ref}}", update_ref),
    Route("DELETE", f"{GIT}/refs/{{ref}}", delete_ref),
    Route("POST", f"{GIT}/blobs", create_blob),
    Route("GET", f"{GIT}/blobs/{{file_sha}}", get_blob),
    Route("POST", f"{GIT}/trees", create_tree),
    Route("GET", f"{GIT}/trees/{{tree_sha}}", get_tree),
    Route("POST", f"{GIT}/commits", create_commit),
    Route("GET", f"{GIT}/commits/{{commit_sha}}", get_commit),
)
