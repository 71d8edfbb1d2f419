"""Which permission a route needs: from GitHub's own table when it is given, else from a short one by path."""

import json
import re
from pathlib import Path

PUBLIC = (
    "/meta",
    "/zen",
    "/users/{username}",
    "/apps/{app_slug}",
    "/app-manifests/{code}/conversions",
    "/zen",
)
BY_PATH = (
    ("/check-runs", "checks:{level}"),
    ("/check-suites", "checks:{level}"),
    ("/actions/", "actions:{level}"),
    ("/commits/{commit_sha}/pulls", "pull_requests:read or contents:read"),
    ("/pulls", "pull_requests:{level}"),
    ("/issues", "issues:{level} or pull_requests:{level}"),
    ("/labels", "issues:{level} or pull_requests:{level}"),
    ("/status", "statuses:{level}"),
    ("/contents", "contents:{level}"),
    ("/git/", "contents:{level}"),
    ("/commits", "contents:read"),
    ("/compare", "contents:read"),
    ("/rules", "metadata:read"),
    ("/branches", "contents:read"),
    ("/dispatches", "contents:write"),
)


class Permissions:
    """The needed permission per operation, in the form `authorize` takes."""

    def __init__(self, table: dict[str, str]) -> None:
        self._table = table

    @classmethod
    def load(cls, folder: Path | None) -> "Permissions":
        """From `github-permissions.json` in a folder; without one, the built-in rules alone."""
        if folder is None:
            return cls({})
        raw = json.loads((folder / "github-permissions.json").read_text(encoding="utf-8"))
        return cls({operation: _plain(entry["permission"]) for operation, entry in raw.items()})

    def needed(self, method: str, template: str) -> str:
        """What a request must hold."""
        return self._table.get(f"{method} {template}") or _built_in(method, template)


def _plain(entries: list[str]) -> str:
    """One expression from GitHub's table."""
    first = entries[0].replace("(or ", "or ").replace(")", "")
    if first == "jwt" or first.startswith("none"):
        return first.split(" ")[0]
    if first == "any":
        return "any"
    if first.startswith("any installation token"):
        return "token"
    if first.startswith("user token"):
        return "user"
    return " or ".join(re.findall(r"\w+:\w+", first))


def _built_in(method: str, template: str) -> str:
    """The short table: enough for the routes the server has."""
    if template in PUBLIC:
        return "none"
    if template == "/rate_limit":
        return "any"
    if template == "/user":
        return "user"
    if template == "/installation/token":
        return "token"
    if template.startswith("/app/") or template == "/app" or template.endswith("/installation"):
        return "jwt"
    level = "read" if method == "GET" else "write"
    if template.endswith("/issues"):
        # Unlike the other routes about issues, these two are not about pull requests, too.
        return f"issues:{level}"
    for part, expression in BY_PATH:
        if part in template:
            return expression.format(level=level)
    return "metadata:read"
