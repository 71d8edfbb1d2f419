"""Time to answer a webhook delivery: ours (signature, routing, durable inbox) beside a FastAPI route that does nothing.

    python -m benchmarks.webhook FOLDER [--rounds N]

FOLDER holds payloads as `EVENT/NAME.json`; every file is sent, in-process, through the same client to both.
"""

import argparse
import asyncio
import tempfile
import time
from collections import Counter
from pathlib import Path

import httpx
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse

from benchmarks.measure import as_users_have_it, report, summary
from bot.clock import SystemClock
from bot.intake.identity import OwnApp
from bot.intake.webhook import webhook_router
from bot.queue.inbox import Inbox
from bot.store.opening import open_database
from tests.unit.bot.intake import payloads


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    was_off = as_users_have_it()
    deliveries = [
        (p.read_bytes(), p.parent.name)
        for p in sorted(arguments.folder.rglob("*.json"))
        if p.stem != "index"
    ]
    if not deliveries:
        parser.error(f"there are no payloads in {arguments.folder}")
    with tempfile.TemporaryDirectory() as folder:
        inbox = Inbox(open_database(f"sqlite:///{folder}/engine.sqlite"), SystemClock())
        inbox.open()
        ours, answers = asyncio.run(_send(_our_app(inbox), deliveries, arguments.rounds))
        null, _ = asyncio.run(_send(_null_app(), deliveries, arguments.rounds))
        inbox.close()
    result = {
        "payloads": len(deliveries),
        "rounds": arguments.rounds,
        "answers": {str(status): count for status, count in sorted(answers.items())},
        "ours_ms": summary(ours),
        "null_route_ms": summary(null),
        "own_time_median_ms": round(summary(ours)["median"] - summary(null)["median"], 3),
    }
    report("webhook", result, bytecode_was_off=was_off)


async def _send(
    app: FastAPI, deliveries: list[tuple[bytes, str]], rounds: int
) -> tuple[list[float], Counter[int]]:
    """Milliseconds of every answer, and how often each status was given."""
    spent: list[float] = []
    answers: Counter[int] = Counter()
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app), base_url="http://bot"
    ) as client:
        for turn in range(-1, rounds):  # the first turn warms up
            for number, (payload, event) in enumerate(deliveries):
                # A body that came before is a duplicate, so each is one of its own.
                body = payload.rstrip()[:-1] + b',"turn":%d}' % turn
                headers = payloads.signed(body, event, f"{turn}-{number}")
                begun = time.perf_counter()
                answer = await client.post("/webhook", content=body, headers=headers)
                if turn >= 0:
                    spent.append((time.perf_counter() - begun) * 1000)
                    answers[answer.status_code] += 1
    return spent, answers


def _our_app(inbox: Inbox) -> FastAPI:
    app = FastAPI()
    own = OwnApp(app_id=payloads.APP_ID, slug="metaagent")
    app.include_router(webhook_router(secret=payloads.SECRET, inbox=inbox, own=own))
    return app


def _null_app() -> FastAPI:
    app = FastAPI()

    @app.post("/webhook", status_code=202)
    async def receive(request: Request) -> JSONResponse:
        return JSONResponse({"size": len(await request.body())}, 202)

    return app


if __name__ == "__main__":
    main()
