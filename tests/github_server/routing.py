"""Requests, answers, errors and the table that maps GitHub's path templates to handlers."""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, unquote, urlencode

from tests.github_server.auth import Actor
from tests.github_server.entities import Json, Repository
from tests.github_server.errors import ApiError, invalid, not_found
from tests.github_server.hub import Hub
from tests.github_server.world import World

MANY_SEGMENTS = {"ref", "basehead", "branch"}


@dataclass(slots=True)
class Call:
    """One request as a handler sees it."""

    hub: Hub
    method: str
    template: str
    params: dict[str, str]
    query: dict[str, str]
    headers: dict[str, str]
    body: Any
    actor: Actor
    repository: Repository | None = None

    @property
    def world(self) -> World:
        """All state."""
        return self.hub.world

    @property
    def repo(self) -> Repository:
        """The repository in the path."""
        if self.repository is None:
            raise not_found()
        return self.repository

    def number(self, name: str) -> int:
        """An integer from the path."""
        if not self.params[name].isdigit():
            raise not_found()
        return int(self.params[name])

    def field(self, name: str, kind: type = str) -> Any:
        """A required member of the body."""
        value = self.body.get(name) if isinstance(self.body, dict) else None
        if not isinstance(value, kind):
            raise invalid(f"""Invalid request.\n\n"{name}" wasn't supplied.""")
        return value


@dataclass(slots=True)
class Reply:
    """An answer: JSON, or bytes with their own media type."""

    body: Any = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    media_type: str = "application/json; charset=utf-8"

    def content(self) -> bytes:
        """The bytes to send."""
        if isinstance(self.body, bytes):
            return self.body
        return b"" if self.status in {204, 302} else json.dumps(self.body).encode()


Handler = Callable[[Call], Reply]


@dataclass(frozen=True, slots=True)
class Route:
    """A path template of GitHub's description and what answers it."""

    method: str
    template: str
    handler: Handler

    def pattern(self) -> re.Pattern[str]:
        """The regular expression of the raw path."""
        parts = re.split(r"(\{\w+\})", self.template)
        return re.compile("".join(_group(part) for part in parts))


def _group(part: str) -> str:
    """A literal, or a group for a parameter."""
    if not part.startswith("{"):
        return re.escape(part)
    name = part[1:-1]
    if name == "path":
        return "(?P<path>.*)"
    return f"(?P<{name}>.+)" if name in MANY_SEGMENTS else f"(?P<{name}>[^/]+)"


class Router:
    """Finds the route of a request; the most literal template wins."""

    def __init__(self, routes: Sequence[Route]) -> None:
        ordered = sorted(routes, key=lambda route: -len(re.sub(r"\{\w+\}", "", route.template)))
        self._routes = [(route, route.pattern()) for route in ordered]

    def find(self, method: str, raw_path: str) -> tuple[Route, dict[str, str]]:
        """The route and the unquoted parameters.

        Raises:
            ApiError: 404, no such path (GitHub says the same for a wrong method).
        """
        for route, pattern in self._routes:
            match = pattern.fullmatch(raw_path)
            if route.method == method and match:
                return route, {name: unquote(value) for name, value in match.groupdict().items()}
        raise not_found()


def page(call: Call, items: Sequence[Json], key: str | None = None) -> Reply:
    """One page of a list with GitHub's Link header; with a key, in an object with `total_count`."""
    size = min(max(_integer(call.query.get("per_page"), 30), 1), 100)
    size = min(size, call.world.faults.page_size or size)
    number = max(_integer(call.query.get("page"), 1), 1)
    last = max(-(-len(items) // size), 1)
    chosen = list(items[(number - 1) * size : number * size])
    headers = {}
    links = {"prev": number - 1, "next": number + 1, "last": last, "first": 1}
    if number >= last:
        links = {"prev": number - 1, "first": 1}
    if number == 1:
        links = {name: target for name, target in links.items() if name in {"next", "last"}}
    if links and last > 1:
        headers["link"] = ", ".join(
            f'<{_page_url(call, target)}>; rel="{name}"' for name, target in links.items()
        )
    return Reply({"total_count": len(items), key: chosen} if key else chosen, headers=headers)


def _integer(text: str | None, default: int) -> int:
    """A query value as a number."""
    return int(text) if text and text.isdigit() else default


def _page_url(call: Call, number: int) -> str:
    """The address of another page of the same list."""
    path = re.sub(r"\{(\w+)\}", lambda match: quote(call.params[match[1]]), call.template)
    if call.repository is not None:  # GitHub's links name a repository by its id
        path = path.replace(
            f"/repos/{call.params['owner']}/{call.params['repo']}",
            f"/repositories/{call.repo.id}",
            1,
        )
    query = {**call.query, "page": str(number)}
    return f"{call.world.api_url}{path}?" + urlencode(query)


__all__ = ["ApiError", "Call", "Handler", "Reply", "Route", "Router", "page"]
