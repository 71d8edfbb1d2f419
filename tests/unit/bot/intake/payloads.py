"""Signed webhook requests for tests, of our own writing or read from the recorded ones."""

import hashlib
import hmac
import json
from pathlib import Path
from typing import Any

SECRET = "a secret of the tests"
APP_ID = 123_456
REPOSITORY = {
    "id": 42,
    "full_name": "octo/calculator",
    "default_branch": "main",
    "private": False,
}
HEAD = "a" * 40


def signed(body: bytes, event: str, delivery: str = "d-1", **headers: str) -> dict[str, str]:
    """GitHub's headers for a body."""
    digest = hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
    return {
        "content-type": "application/json",
        "x-github-event": event,
        "x-github-delivery": delivery,
        "x-hub-signature-256": f"sha256={digest}",
    } | headers


def check_run(**changes: Any) -> dict[str, Any]:
    """A red Actions job on a branch of the repository."""
    suite = {"id": 5, "head_branch": changes.pop("branch", "feature")}
    run = {
        "id": 99,
        "name": "tests",
        "head_sha": HEAD,
        "status": "completed",
        "conclusion": "failure",
        "app": {"id": 15_368, "slug": "github-actions"},
        "check_suite": suite,
        "pull_requests": [],
    } | changes
    return _event("completed", check_run=run)


def pull_request_link(
    number: int = 3, head_repository: int = 42, base_repository: int = 42
) -> dict[str, Any]:
    """An entry of `check_run.pull_requests`."""
    return {
        "number": number,
        "head": {"ref": "feature", "sha": HEAD, "repo": {"id": head_repository}},
        "base": {"ref": "main", "sha": "b" * 40, "repo": {"id": base_repository}},
    }


def comment(body: str, **changes: Any) -> dict[str, Any]:
    """A comment on a pull request."""
    user = {"login": changes.pop("login", "maintainer"), "type": changes.pop("type", "User")}
    issue = {
        "number": 3,
        "state": "open",
        "pull_request": {"url": "https://api.github.com/x"},
    } | changes
    return _event("created", comment={"id": 77, "body": body, "user": user}, issue=issue)


def closed_pull_request(**changes: Any) -> dict[str, Any]:
    """One of our pull requests, merged."""
    pull = {
        "number": 8,
        "merged": True,
        "user": {"login": "metaagent[bot]", "type": "Bot"},
        "head": {"ref": "metaagent/feature/01234567", "sha": HEAD, "repo": {"id": 42}},
        "base": {"ref": "feature", "sha": "b" * 40, "repo": {"id": 42}},
    } | changes
    return _event("closed", pull_request=pull)


def check_suite(action: str = "completed", **changes: Any) -> dict[str, Any]:
    """All checks of one App on the commit are done, one of them red."""
    suite = {
        "id": 5,
        "head_sha": HEAD,
        "head_branch": "feature",
        "conclusion": "failure",
        "app": {"id": 15_368, "slug": "github-actions"},
        "pull_requests": [],
    } | changes
    return _event(action, check_suite=suite)


def workflow_run(**changes: Any) -> dict[str, Any]:
    """A red run of a workflow for a pull request of this repository."""
    run = {
        "id": 77,
        "name": "CI",
        "event": "pull_request",
        "head_branch": "feature",
        "head_sha": HEAD,
        "head_repository": {"id": 42},
        "conclusion": "failure",
        "actor": {"login": "maintainer", "type": "User"},
        "triggering_actor": {"login": "rerunner", "type": "User"},
        "pull_requests": [],
    } | changes
    return _event("completed", workflow_run=run)


def workflow_job(**changes: Any) -> dict[str, Any]:
    """A red job."""
    job = {
        "id": 99,
        "run_id": 77,
        "name": "tests",
        "head_branch": "feature",
        "head_sha": HEAD,
        "conclusion": "failure",
        "html_url": "https://github.com/octo/calculator/actions/runs/77/job/99",
    } | changes
    return _event("completed", workflow_job=job)


def status(**changes: Any) -> dict[str, Any]:
    """A red commit status of an older CI, on the head of two branches."""
    branches = [
        {"name": "old", "commit": {"sha": "c" * 40}},
        {"name": "feature", "commit": {"sha": HEAD}},
        {"name": "copy", "commit": {"sha": HEAD}},
    ]
    body = {
        "id": 4,
        "sha": HEAD,
        "state": "failure",
        "context": "ci/tests",
        "branches": branches,
    } | changes
    event = _event("", **body)
    del event["action"]
    return event


def issue_edited(body: str, before: str | None = "", **changes: Any) -> dict[str, Any]:
    """Somebody edited our dashboard issue."""
    user = {"login": changes.pop("author", "metaagent[bot]"), "type": "Bot"}
    sender = {"login": changes.pop("login", "maintainer"), "type": changes.pop("type", "User")}
    issue = {"number": 9, "state": "open", "body": body, "user": user} | changes
    edit = {"title": {"from": "x"}} if before is None else {"body": {"from": before}}
    return _event("edited", issue=issue, changes=edit, sender=sender)


def issue_state(action: str, **changes: Any) -> dict[str, Any]:
    """Somebody closed, opened or deleted our dashboard issue."""
    event = issue_edited("", **changes) | {"action": action}
    del event["changes"]
    return event


def push(**changes: Any) -> dict[str, Any]:
    """Somebody pushed to a branch."""
    body = {
        "ref": "refs/heads/feature",
        "before": HEAD,
        "after": "b" * 40,
        "created": False,
        "deleted": False,
        "forced": False,
        "pusher": {"name": "maintainer"},
    } | changes
    event = _event("", **body)
    del event["action"]
    return event


def pull_request(action: str, **changes: Any) -> dict[str, Any]:
    """Something happened to a person's pull request from a branch of this repository."""
    more = {key: changes.pop(key) for key in ("before", "after", "label") if key in changes}
    pull = {
        "number": 3,
        "state": "open",
        "merged": False,
        "user": {"login": "maintainer", "type": "User"},
        "head": {"ref": "feature", "sha": HEAD, "repo": {"id": 42}},
        "base": {"ref": "main", "sha": "b" * 40, "repo": {"id": 42}},
    } | changes
    return _event(action, pull_request=pull, **more)


def installation(action: str, **changes: Any) -> dict[str, Any]:
    """The App was installed, removed, suspended."""
    return {"action": action, "installation": {"id": 7, "account": {"login": "octo"}}} | changes


def recorded(shared: Path) -> list[tuple[Path, str]]:
    """Every recorded payload with its event, by the folder it lies in."""
    files = sorted((shared / "github" / "payloads").rglob("*.json"))
    return [(path, path.parent.name) for path in files if path.name != "index.json"]


def encoded(payload: dict[str, Any]) -> bytes:
    """As GitHub sends it."""
    return json.dumps(payload).encode()


def _event(action: str, **content: Any) -> dict[str, Any]:
    base = {"action": action, "repository": REPOSITORY, "installation": {"id": 7}}
    return base | {"sender": {"login": "maintainer", "type": "User"}} | content
