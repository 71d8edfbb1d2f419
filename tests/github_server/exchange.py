"""Checks every exchange and every webhook against GitHub's own description, away from the request's path."""

import functools
import json
import queue
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tests.github_server.entities import Json

# GitHub really answers these where its description lists none: moved, cached, not signed in, not allowed, absent,
# refused by a limit of the operation, too fast, unavailable.
UNLISTED = {301, 304, 307, 400, 401, 403, 404, 410, 422, 429, 503}
HOST = "https://api.github.com"
# The description forgets that the fork of a pull request may be gone; recorded payloads show it.
NO_FORK = "head/repo: None "
VIOLATION = {"$ref": "#/components/schemas/repository-rule-violation-error"}
# The subset of the description has no `status` event: its keys, as GitHub's own schema names them.
STATUS = {
    *(
        "avatar_url",
        "branches",
        "commit",
        "context",
        "created_at",
        "description",
        "id",
        "name",
        "repository",
    ),
    *("sender", "sha", "state", "target_url", "updated_at", "installation"),
}


@dataclass(slots=True)
class Exchange:
    """One request and its answer."""

    method: str
    path: str
    query: list[tuple[str, str]]
    request_body: bytes
    request_headers: dict[str, str] = field(default_factory=dict)
    template: str = ""
    params: dict[str, str] = field(default_factory=dict)
    status: int = 0
    media_type: str = ""
    response_headers: dict[str, str] = field(default_factory=dict)
    response_body: bytes = b""
    injected: bool = False
    unknown: bool = False

    def title(self) -> str:
        """How a violation names the exchange."""
        return f"{self.method} {self.path} -> {self.status}"


# Nor has it the `issues` events, and the list of issues.
ISSUES = {"action", "issue", "repository", "sender", "installation"}
ISSUE_LIST = ("GET", "/repos/{owner}/{repo}/issues")


class Checker:
    """Collects violations; without GitHub's description only unknown paths count.

    Attributes:
        checked: how many exchanges and webhooks were compared with the description.
    """

    def __init__(self, folder: Path | None) -> None:
        self.checked = 0
        self._folder = folder
        self._violations: list[str] = []
        self._queue: queue.Queue[Exchange | tuple[str, str | None, Json] | None] = queue.Queue()
        self._thread = threading.Thread(target=self._work, name="openapi", daemon=True)

    def start(self) -> None:
        """Start the checking thread."""
        self._thread.start()

    def stop(self) -> None:
        """Finish what is queued and stop."""
        self._queue.put(None)
        self._thread.join(60)

    def report(self, text: str) -> None:
        """Count a fault of the server itself as a violation."""
        self._violations.append(text)

    def submit(self, exchange: Exchange) -> None:
        """Check an exchange soon."""
        self._queue.put(exchange)

    def submit_webhook(self, event: str, action: str | None, payload: Json) -> None:
        """Check a webhook's payload soon."""
        self._queue.put((event, action, payload))

    def drain(self) -> list[str]:
        """All violations so far, after everything queued has been checked."""
        self._queue.join()
        return list(self._violations)

    def clear(self) -> None:
        """Forget the violations so far."""
        self._queue.join()
        self._violations.clear()

    def _work(self) -> None:
        rest: RestDescription | None = None
        hooks: HookDescription | None = None
        while (item := self._queue.get()) is not None:
            try:
                if self._folder is not None and rest is None:
                    rest, hooks = descriptions(self._folder)
                if isinstance(item, Exchange):
                    found = check_exchange(rest, item)
                else:
                    found = hooks.check(*item) if hooks else None
                self.checked += rest is not None
                if found:
                    self._violations.append(found)
            except Exception as error:  # noqa: BLE001 - a check that breaks is a violation, not a silent thread
                self._violations.append(f"the check itself failed: {error!r}")
            finally:
                self._queue.task_done()


def check_exchange(rest: "RestDescription | None", exchange: Exchange) -> str | None:
    """What is wrong with an exchange, if anything."""
    if exchange.unknown:
        return f"{exchange.title()}: the local GitHub has no such path"
    if rest is None or not exchange.template or exchange.injected:
        return None
    if (exchange.method, exchange.template) == ISSUE_LIST:
        problem = rest.issues_problem(exchange)
        return f"{exchange.title()}: {problem}" if problem else None
    problem = rest.request_problem(exchange) or rest.response_problem(exchange)
    return f"{exchange.title()}: {problem}" if problem else None


def _mended(value: Json) -> Json:
    """A JSON object of the description without its mistakes.

    A discriminator beside a choice makes the validator take a list for an object; an error that fits the longer form
    fits the plain one too; and an account in the list of installations is a user or an enterprise, not both at once.
    """
    value.pop("discriminator", None)
    if VIOLATION in value.get("oneOf", ()):
        value["anyOf"] = value.pop("oneOf")
    if [one.get("title") for one in value.get("allOf", ())] == ["Simple User", "Enterprise"]:
        value["anyOf"] = value.pop("allOf")
    return value


class RestDescription:
    """GitHub's OpenAPI description of REST."""

    def __init__(self, folder: Path) -> None:
        from openapi_core import Config, OpenAPI

        text = (folder / "github-openapi-subset.json").read_text(encoding="utf-8")
        self._spec: Json = json.loads(text, object_hook=_mended)
        self._openapi = OpenAPI.from_dict(self._spec, config=Config(spec_validator_cls=None))

    def _request(self, exchange: Exchange) -> Any:
        from openapi_core.testing import MockRequest
        from werkzeug.datastructures import MultiDict

        path = exchange.template
        for name, value in exchange.params.items():
            path = path.replace(f"{{{name}}}", quote(value, safe="").replace(".", "%2E"))
        request = MockRequest(
            HOST,
            exchange.method.lower(),
            path,
            headers=exchange.request_headers,
            data=exchange.request_body,
            content_type=exchange.request_headers.get("content-type", "application/json"),
        )
        request.parameters.query = MultiDict(exchange.query)
        return request

    def request_problem(self, exchange: Exchange) -> str | None:
        """Whether GitHub's description allows the request."""
        from openapi_core.exceptions import OpenAPIError

        if not exchange.request_body and "requestBody" not in self._operation(exchange):
            exchange.request_headers.pop("content-type", None)
        try:
            self._openapi.validate_request(self._request(exchange))
        except OpenAPIError as error:
            problem = explain(error)
            return f"bad request: {problem}" if problem else None
        return None

    def _operation(self, exchange: Exchange) -> Json:
        found: Json = (
            self._spec["paths"].get(exchange.template, {}).get(exchange.method.lower(), {})
        )
        return found

    def issues_problem(self, exchange: Exchange) -> str | None:
        """Whether each entry of a list of issues is what one issue is."""
        from openapi_schema_validator import OAS30Validator

        if exchange.status != 200:
            return _unlisted(exchange) if exchange.status != 304 else None
        schema = {"$ref": "#/components/schemas/issue", "components": self._spec["components"]}
        check = OAS30Validator(schema)
        found = [r for one in json.loads(exchange.response_body) for r in check.iter_errors(one)]
        return "; ".join(_reasons(found)[:5]) or None

    def response_problem(self, exchange: Exchange) -> str | None:
        """Whether GitHub's description allows the answer."""
        from openapi_core.exceptions import OpenAPIError
        from openapi_core.testing import MockResponse

        responses = self._operation(exchange).get("responses", {})
        if str(exchange.status) not in responses:
            return _unlisted(exchange)
        if "json" not in exchange.media_type or exchange.status in {204, 302}:
            return None
        response = MockResponse(
            exchange.response_body, exchange.status, exchange.response_headers, exchange.media_type
        )
        try:
            self._openapi.validate_response(self._request(exchange), response)
        except OpenAPIError as error:
            problem = explain(error)
            return f"bad response: {problem}" if problem else None
        return None


def _unlisted(exchange: Exchange) -> str | None:
    """A status the description does not list: one of the known ones, with GitHub's error body."""
    if exchange.status not in UNLISTED:
        return f"status {exchange.status} is not in GitHub's description"
    if exchange.status == 304:
        return None
    body = json.loads(exchange.response_body or b"{}")
    missing = {"message", "documentation_url"} - set(body)
    return f"the error body lacks {sorted(missing)}" if missing else None


def explain(error: BaseException) -> str:
    """The innermost reasons of an error; nothing when they are mistakes of the description."""
    causes = [error]
    while causes[-1].__cause__ is not None:
        causes.append(causes[-1].__cause__)
    errors = getattr(causes[-1], "schema_errors", None)
    return "; ".join(_reasons(errors)[:5]) if errors else repr(causes[-1])[:300]


def _reasons(errors: Iterable[Any]) -> list[str]:
    """Schema errors in words, those inside a choice of schemas instead of the choice."""
    found: list[str] = []
    for one in errors:
        inner = _reasons(one.context or [])
        found += inner or [f"{'/'.join(map(str, one.absolute_path))}: {one.message[:200]}"]
    return [one for one in found if NO_FORK not in one]


class HookDescription:
    """GitHub's description of webhook payloads."""

    def __init__(self, folder: Path) -> None:
        raw = json.loads((folder / "github-webhooks-subset.json").read_text(encoding="utf-8"))
        self._components = raw["components"]
        self._events = raw["events"]
        self._validators: dict[str, Any] = {}

    def check(self, event: str, action: str | None, payload: Json) -> str | None:
        """What is wrong with a payload, if anything."""
        if event == "status":
            return (
                f"webhook status: {sorted(STATUS ^ set(payload))}"
                if STATUS ^ set(payload)
                else None
            )
        if event == "issues":
            odd = set(payload) ^ (ISSUES | ({"changes"} if action == "edited" else set()))
            return f"webhook issues: {sorted(odd)}" if odd else None
        name = "-".join([event.replace("_", "-"), *([action.replace("_", "-")] if action else [])])
        if name not in self._events.get(event, {}):
            return f"webhook {name} is not in GitHub's description"
        problem = "; ".join(_reasons(self._validator(f"webhook-{name}").iter_errors(payload))[:5])
        return f"webhook {name}: {problem}" if problem else None

    def _validator(self, schema: str) -> Any:
        from openapi_schema_validator import OAS30Validator

        if schema not in self._validators:
            document = {"$ref": f"#/components/schemas/{schema}", "components": self._components}
            self._validators[schema] = OAS30Validator(document)
        return self._validators[schema]


@functools.cache
def descriptions(folder: Path) -> tuple[RestDescription, HookDescription]:
    """Both, read once for all servers of a process: they never change, and reading them is most of a server's start."""
    return RestDescription(folder), HookDescription(folder)
