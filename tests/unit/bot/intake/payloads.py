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


def pull_request_link(number: int = 3, head_repository: int = 42, base_repository: int = 42) -> dict[str, Any]:
    """An entry of `check_run.pull_requests`."""
    return {
        "number": number,
        "head": {"ref": "feature", "sha": HEAD, "repo": {"id": head_repository}},
        "base": {"ref": "main", "sha": "b" * 40, "repo": {"id": base_repository}},
    }


def comment(body: str, **changes: Any) -> dict[str, Any]:
    """A comment on a pull request."""
    user = {"login": changes.pop("login", "maintainer"), "type": changes.pop("type", "User")}
    issue = {"number": 3, "state": "open", "pull_request": {"url": "https://api.github.com/x"}} | changes
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
