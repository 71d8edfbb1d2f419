"""Git over smart HTTP: `git http-backend` behind Basic authentication."""

import gzip
import subprocess

from starlette.requests import Request
from starlette.responses import Response

from tests.github_server import events
from tests.github_server.auth import Actor, covers, identify
from tests.github_server.entities import Repository
from tests.github_server.errors import ApiError
from tests.github_server.gitstore import git_environment
from tests.github_server.hub import Hub

CHALLENGE = {"www-authenticate": 'Basic realm="GitHub"'}


def git_response(hub: Hub, request: Request, target: tuple[str, str, str], body: bytes) -> Response:
    """Answer one request of a git client."""
    owner, name, rest = target
    world = hub.world
    writing = (
        "git-receive-pack" in rest or request.query_params.get("service") == "git-receive-pack"
    )
    with world.lock:
        try:
            actor = identify(world, request.headers.get("authorization"))
        except ApiError as error:
            status = 403 if error.status == 403 else 401
            return Response(str(error), status, CHALLENGE if status == 401 else None)
        repo = world.find(owner, name) or world.repositories.get(
            world.renamed.get(f"{owner}/{name}".lower(), 0)
        )
        refused = _refusal(hub, actor, repo, writing=writing)
    if refused is not None or repo is None:
        return refused or Response("Repository not found.", 404)
    if not writing or rest.startswith("/info/"):
        return _backend(repo, request, rest, body, {})
    with world.lock:
        before = repo.store.refs("refs/heads/")
        may = actor.kind != "installation" or actor.may("workflows", "write")
        # What a push brings is unsigned, and no branch with rules is made, moved or removed by it.
        ruled = {
            "LOCAL_GITHUB_RULED": " ".join(
                f"refs/heads/{name}" for name, rules in repo.rules.items() if rules
            )
        }
        answer = _backend(
            repo, request, rest, body, ruled | ({} if may else {"LOCAL_GITHUB_WORKFLOWS": "refuse"})
        )
        events.refs_changed(hub, repo, before, actor.login)
    return answer


def _refusal(hub: Hub, actor: Actor, repo: Repository | None, *, writing: bool) -> Response | None:
    """401 asks git for a credential, 404 hides, 403 refuses."""
    if actor.kind == "anonymous" and (writing or repo is None or repo.private):
        return Response("Authentication required.", 401, CHALLENGE)
    if repo is None or actor.kind == "app":
        return Response("Repository not found.", 404)
    allowed, visible = _access(hub, actor, repo, writing=writing)
    if allowed:
        return None
    if not visible:
        return Response("Repository not found.", 404)
    return Response(
        f"Permission to {repo.full_name}.git denied to {actor.login or 'anonymous'}.", 403
    )


def _access(hub: Hub, actor: Actor, repo: Repository, *, writing: bool) -> tuple[bool, bool]:
    """Whether the caller may do it, and whether it may know of the repository."""
    if actor.kind == "anonymous":
        return not writing, True
    if actor.kind == "user":
        level = hub.world.permission(repo, actor.login)
        return level in (
            {"write", "admin"} if writing else {"read", "write", "admin"}
        ), level != "none"
    covered = covers(hub.world, actor, repo)
    if not covered:
        return not (writing or repo.private), not repo.private
    return actor.may("contents", "write" if writing else "read") or not (
        writing or repo.private
    ), True


def _backend(
    repo: Repository, request: Request, rest: str, body: bytes, extra: dict[str, str]
) -> Response:
    """Run `git http-backend` as a CGI program."""
    if request.headers.get("content-encoding") == "gzip":
        body = gzip.decompress(body)
    environment = {
        **git_environment(),
        "GIT_PROJECT_ROOT": str(repo.store.path.parent),
        "GIT_HTTP_EXPORT_ALL": "1",
        "PATH_INFO": f"/{repo.store.path.name}{rest}",
        "QUERY_STRING": request.url.query,
        "REQUEST_METHOD": request.method,
        "CONTENT_TYPE": request.headers.get("content-type", ""),
        "CONTENT_LENGTH": str(len(body)),
        "GIT_PROTOCOL": request.headers.get("git-protocol", ""),
        "REMOTE_USER": "local",
        "REMOTE_ADDR": "127.0.0.1",
        **extra,
    }
    done = subprocess.run(
        ["git", "http-backend"], input=body, env=environment, capture_output=True, check=False
    )
    head, _, content = done.stdout.partition(b"\r\n\r\n")
    headers = dict(
        line.split(": ", 1) for line in head.decode("latin-1").split("\r\n") if ": " in line
    )
    status = int(headers.pop("Status", "200").split()[0])
    return Response(content, status, headers)
