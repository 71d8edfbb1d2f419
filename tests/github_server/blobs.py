"""The second port: signed addresses of logs, which answer 400 when an Authorization header arrives."""

import hmac
import time

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from tests.github_server.routes_actions import sign, zip_of
from tests.github_server.world import World


def blob_app(world: World) -> Starlette:
    """The application of the blob store."""

    def refusal(request: Request) -> Response | None:
        if "authorization" in request.headers:
            return PlainTextResponse("InvalidAuthenticationInfo", 400)
        expires = request.query_params.get("se", "0")
        good = expires.isdigit() and int(expires) >= time.time()
        expected = sign(world, request.url.path, int(expires)) if good else ""
        if not good or not hmac.compare_digest(expected, request.query_params.get("sig", "")):
            return PlainTextResponse("AuthenticationFailed", 403)
        return None

    async def read_log(request: Request) -> Response:
        job = world.jobs.get(int(request.path_params["job"]))
        found = PlainTextResponse(job.log, 200) if job else PlainTextResponse("BlobNotFound", 404)
        return refusal(request) or found

    async def read_zip(request: Request) -> Response:
        refused = refusal(request)
        if refused is not None:
            return refused
        with world.lock:
            run = world.runs[int(request.path_params["run"])]
            return Response(
                zip_of(world, run, int(request.path_params["attempt"])),
                media_type="application/zip",
            )

    return Starlette(
        routes=[
            Route("/logs/{job:int}.txt", read_log),
            Route("/runs/{run:int}/{attempt:int}.zip", read_zip),
        ]
    )
