"""The ASGI application: REST under /api/v3, git under /{owner}/{repo}.git, every REST exchange handed to the checker."""

import hashlib
import json
import re
import time
import traceback
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import anyio
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route as StarletteRoute

from tests.github_server import (
    pages,
    routes_actions,
    routes_apps,
    routes_checks,
    routes_contents,
    routes_git,
    routes_issues,
    routes_manifest,
    routes_pulls,
    routes_repos,
    routes_reviews,
    routes_statuses,
    routes_workflows,
)
from tests.github_server.auth import authorize, identify
from tests.github_server.entities import Repository
from tests.github_server.errors import ApiError, not_found
from tests.github_server.exchange import Checker, Exchange
from tests.github_server.faults import Fault
from tests.github_server.githttp import git_response
from tests.github_server.hub import Hub
from tests.github_server.permissions import Permissions
from tests.github_server.routing import Call, Reply, Route, Router

API = "/api/v3"
VARY = "Accept, Authorization, Cookie, X-GitHub-OTP, Accept-Encoding, Accept, X-Requested-With"
GIT_PATH = re.compile(r"^/(?P<owner>[^/]+)/(?P<repo>[^/]+?)\.git(?P<rest>/.*)$")
PAGE = re.compile(r"^(?:/organizations/(?P<organization>[^/]+))?/settings/apps/new$")
PULL_PAGE = re.compile(r"^/(?P<owner>[^/]+)/(?P<repo>[^/]+)/pull/(?P<number>[0-9]{1,9})$")
METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]
ALL_ROUTES = (
    *routes_apps.ROUTES,
    *routes_manifest.ROUTES,
    *routes_repos.ROUTES,
    *routes_contents.ROUTES,
    *routes_git.ROUTES,
    *routes_checks.ROUTES,
    *routes_actions.ROUTES,
    *routes_pulls.ROUTES,
    *routes_issues.ROUTES,
    *routes_reviews.ROUTES,
    *routes_statuses.ROUTES,
    *routes_workflows.ROUTES,
)


class GitHubApp:
    """Answers requests from the state of one hub."""

    def __init__(self, hub: Hub, checker: Checker, folder: Path | None) -> None:
        self._hub = hub
        self._folder = folder
        self._permissions = Permissions.load(folder)
        self._schema: Any = None
        self._checker = checker
        self._router = Router(ALL_ROUTES)
        self.requests: list[str] = []
        self._used = 0

    def asgi(self) -> Starlette:
        """The application for uvicorn."""
        return Starlette(routes=[StarletteRoute("/{path:path}", self._endpoint, methods=METHODS)])

    async def _endpoint(self, request: Request) -> Response:
        raw = request.scope["raw_path"].decode("ascii")
        body = await request.body()
        if raw.startswith(f"{API}/"):
            return await self._api(request, raw.removeprefix(API), body)
        if raw == "/api/graphql":
            return await self._graphql(request.headers.get("authorization"), body)
        page = PAGE.match(raw)
        if page:
            return self._page(request, page["organization"], body)
        pull = PULL_PAGE.match(raw)
        if pull and request.method == "GET":
            with self._hub.world.lock:
                return pages.show_pull_request(
                    self._hub, pull["owner"], pull["repo"], int(pull["number"])
                )
        git = GIT_PATH.match(raw)
        if git:
            return await self._git(request, raw, (git["owner"], git["repo"], git["rest"]), body)
        return Response("Not Found", 404)

    def _page(self, request: Request, organization: str | None, body: bytes) -> Response:
        """The page where a browser brings an App's manifest."""
        with self._hub.world.lock:
            return routes_manifest.create_from_page(
                self._hub, organization, request.url.query, body
            )

    async def _graphql(self, authorization: str | None, body: bytes) -> Response:
        """Answer a GraphQL request, or the fault planned for it."""
        self.requests.append("POST /graphql")
        fault = self._hub.world.faults.take("POST", "/graphql")
        if fault and fault.delay:
            await anyio.sleep(fault.delay)
        planned = fault is not None and fault.status != 0
        answer = Reply()
        if not planned or (fault and fault.after):
            answer = await run_in_threadpool(self._query, authorization, body)
        if fault and planned:
            answer = Reply(self._hub.world.faults.body(fault), fault.status, dict(fault.headers))
        return JSONResponse(answer.body, answer.status, answer.headers)

    def _query(self, authorization: str | None, body: bytes) -> Reply:
        """Execute a GraphQL request; its schema is GitHub's, so the execution is the check."""
        from tests.github_server import graphql_api

        with self._hub.world.lock:
            if authorization is None:
                return Reply({"message": "This endpoint requires you to be authenticated."}, 401)
            try:
                self._schema = self._schema or graphql_api.load_schema(self._folder)
                return Reply(graphql_api.answer(self._hub, self._schema, authorization, body))
            except ApiError as error:
                return Reply(error.body, error.status)

    async def _git(
        self, request: Request, raw: str, target: tuple[str, str, str], body: bytes
    ) -> Response:
        """Answer git, or the fault planned for its request."""
        fault = self._hub.world.faults.take(request.method, raw)
        if fault and fault.delay:
            await anyio.sleep(fault.delay)
        if fault and fault.status:
            return Response(fault.message, fault.status, fault.headers)
        return await run_in_threadpool(git_response, self._hub, request, target, body)

    async def _api(self, request: Request, raw: str, body: bytes) -> Response:
        fault = self._hub.world.faults.take(request.method, raw)
        if fault and fault.delay:
            await anyio.sleep(fault.delay)
        exchange = Exchange(
            request.method, raw, parse_qsl(request.url.query, keep_blank_values=True), body
        )
        exchange.request_headers = dict(request.headers)
        self.requests.append(f"{request.method} {raw}")
        reply = self._conditional(exchange, await run_in_threadpool(self._answer, exchange, fault))
        content = reply.content()
        self._used += reply.status != 304  # an answer that says "as you have it" is free
        headers = {**self._rate_headers(), **reply.headers}
        exchange.status, exchange.response_headers, exchange.response_body = (
            reply.status,
            headers,
            content,
        )
        exchange.media_type = reply.media_type
        self._checker.submit(exchange)
        return Response(content, reply.status, headers, reply.media_type if content else None)

    def _answer(self, exchange: Exchange, fault: Fault | None) -> Reply:
        """The answer, or the fault planned for this request."""
        planned = fault is not None and fault.status != 0
        reply = Reply()
        if not planned or (fault and fault.after):
            with self._hub.world.lock:
                try:
                    reply = self._handle(exchange)
                except ApiError as error:
                    reply = Reply(error.body, error.status, error.headers)
                except Exception as error:  # noqa: BLE001 - a bug of this server must fail the test, not hide in a 500
                    self._hub.report(
                        f"{exchange.title()}: the local GitHub failed: {traceback.format_exc(limit=-4)}"
                    )
                    exchange.injected = True
                    reply = Reply({"message": f"Server Error: {error!r}"}, 500)
        if fault and planned:
            exchange.injected = True
            return Reply(self._hub.world.faults.body(fault), fault.status, dict(fault.headers))
        return reply

    def _conditional(self, exchange: Exchange, reply: Reply) -> Reply:
        """An answer with its ETag; 304 and nothing for a client that has it already."""
        if exchange.method != "GET" or reply.status != 200:
            return reply
        tag = f'W/"{hashlib.sha256(reply.content()).hexdigest()}"'
        reply.headers |= {
            "etag": tag,
            "cache-control": "private, max-age=60, s-maxage=60",
            "vary": VARY,
        }
        known = exchange.request_headers.get("if-none-match", "")
        return Reply(b"", 304, reply.headers, "") if tag in known.split(", ") else reply

    def _handle(self, exchange: Exchange) -> Reply:
        """Identify, route, authorize, call."""
        world = self._hub.world
        actor = identify(world, exchange.request_headers.get("authorization"))
        path = self._by_id(exchange.path)
        try:
            route, params = self._router.find(exchange.method, path)
        except ApiError:
            exchange.unknown = True
            raise
        exchange.template, exchange.params = route.template, params
        repo = self._repository(route, params, path)
        if isinstance(repo, Reply):
            return repo
        needed = self._permissions.needed(route.method, route.template)
        authorize(world, actor, needed, repo, route.template)
        call = Call(
            self._hub,
            route.method,
            route.template,
            params,
            dict(exchange.query),
            exchange.request_headers,
            _body(exchange),
            actor,
            repo,
        )
        return route.handler(call)

    def _by_id(self, path: str) -> str:
        """`/repositories/{id}/…` is `/repos/{owner}/{repo}/…`."""
        match = re.match(r"^/repositories/(\d+)(/.*)?$", path)
        repo = self._hub.world.repositories.get(int(match[1])) if match else None
        return f"/repos/{repo.full_name}{match[2] or ''}" if match and repo else path

    def _repository(
        self, route: Route, params: dict[str, str], path: str
    ) -> Repository | Reply | None:
        """The repository in the path; a redirect for one that was renamed."""
        if "{owner}/{repo}" not in route.template:
            return None
        world = self._hub.world
        found = world.find(params["owner"], params["repo"])
        if found is not None:
            return found
        moved = world.renamed.get(f"{params['owner']}/{params['repo']}".lower())
        if moved is None:
            raise not_found()
        rest = path.split("/", 4)[4:]
        url = f"{world.api_url}/repositories/{moved}" + "".join(f"/{part}" for part in rest)
        body = {
            "message": "Moved Permanently",
            "url": url,
            "documentation_url": "https://docs.github.com/rest",
        }
        # A write stays the write it is.
        return Reply(body, 301 if route.method == "GET" else 307, {"location": url})

    def _rate_headers(self) -> dict[str, str]:
        used = self._used % 5000
        return {
            "x-ratelimit-limit": "5000",
            "x-ratelimit-remaining": str(5000 - used),
            "x-ratelimit-used": str(used),
            "x-ratelimit-reset": str(int(time.time()) + 3600),
            "x-ratelimit-resource": "core",
            "x-github-media-type": "github.v3; format=json",
            "x-github-request-id": f"{used:04X}:LOCAL",
        }


def _body(exchange: Exchange) -> Any:
    """The request's JSON."""
    if not exchange.request_body:
        return {}
    try:
        return json.loads(exchange.request_body)
    except ValueError as error:
        raise ApiError(400, "Problems parsing JSON") from error
