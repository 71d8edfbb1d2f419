"""POST /webhook: check, cut down, route, write down, answer 202 within a second."""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse
from starlette.requests import ClientDisconnect

from bot.domain.delivery import Receipt
from bot.errors import DeliveryRejected, QueueError, SettingsError
from bot.github.events import Delivery, read_delivery, signature_is_valid
from bot.intake.identity import OwnApp
from bot.intake.router import route
from bot.ports import DeliveryInbox

MAX_BODY = 25 * 1024 * 1024
"""GitHub sends nothing larger."""

SENT_WITHIN_S = 8.0
"""GitHub gives up after 10 s."""
ANSWER_WITHIN_S = 0.9
"""Whether the database can be written is known by then, or GitHub is told to come again."""

log = logging.getLogger(__name__)


def webhook_router(
    *,
    secret: str,
    inbox: DeliveryInbox,
    own: OwnApp,
    max_body: int = MAX_BODY,
    answer_within_s: float = ANSWER_WITHIN_S,
) -> APIRouter:
    """The route that takes GitHub's deliveries.

    Args:
        secret: What deliveries are signed with.
        inbox: Where a delivery is written down before it is answered.
        own: Who we are.
        max_body: Largest body read, in bytes.
        answer_within_s: When to give up on the inbox.

    Raises:
        SettingsError: there is no secret; an empty one would let everybody in.
    """
    if not secret:
        raise SettingsError("no webhook secret", "set METAAGENT_WEBHOOK_SECRET to the secret of the GitHub App")

    async def receive(request: Request) -> JSONResponse:
        """Take one delivery."""
        try:
            async with asyncio.timeout(SENT_WITHIN_S):
                delivery = await _authentic(request, secret, max_body)
            receipt = await _in_time(take_in(delivery, inbox, own), answer_within_s)
        except ClientDisconnect:
            return JSONResponse({"error": "the sender went away"}, 400)
        except DeliveryRejected as error:
            log.warning("delivery rejected: %s", error.message, extra={"status": error.status})
            return JSONResponse({"error": error.message}, error.status)
        except (QueueError, TimeoutError) as error:
            log.warning("delivery not taken: %s", getattr(error, "message", "the inbox does not answer"))
            return JSONResponse({"error": "the inbox cannot be written now; deliver again"}, 503)
        return JSONResponse(receipt.model_dump(include={"delivery", "result", "reason"}), 202)

    router = APIRouter()
    # A plain route: the body is read and checked here, and nothing is left for the framework to take apart.
    router.add_route("/webhook", receive, methods=["POST"])
    return router


async def take_in(delivery: Delivery, inbox: DeliveryInbox, own: OwnApp) -> Receipt:
    """Decide what a delivery asks for, and write it down.

    Raises:
        DeliveryRejected: it is for us, but not as GitHub describes it.
        QueueError: it could not be written.
    """
    decision = route(delivery, own)
    receipt = await inbox.accept(delivery.id, delivery.event, delivery.action, decision)
    # Most deliveries are none of our business; why is in the inbox.
    log.log(
        logging.INFO if receipt.result == "queued" else logging.DEBUG,
        "delivery %s: %s",
        receipt.result,
        receipt.reason or receipt.mission_id or "",
        extra={"delivery": delivery.id, "event": delivery.event, "action": delivery.action},
    )
    return receipt


async def _in_time(taking: Coroutine[Any, Any, Receipt], within_s: float) -> Receipt:
    """The receipt; what is written all the same later is a duplicate when GitHub comes again.

    Raises:
        TimeoutError: there is none yet.
    """
    task = asyncio.create_task(taking)
    try:
        # Not `asyncio.timeout`: after a pause of this whole process a receipt that is there counts.
        await asyncio.wait({task}, timeout=within_s)
        if not task.done():
            raise TimeoutError
        return task.result()
    finally:
        task.cancel()


async def _authentic(request: Request, secret: str, max_body: int) -> Delivery:
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != "application/json":
        raise DeliveryRejected("the content type must be application/json", status=415)
    signature = request.headers.get("x-hub-signature-256")
    body = await _bounded_body(request, max_body)
    if not signature_is_valid(secret, body, signature):
        raise DeliveryRejected("the signature is missing or wrong", status=401)
    return read_delivery(request.headers.get("x-github-event"), request.headers.get("x-github-delivery"), body)


async def _bounded_body(request: Request, max_body: int) -> bytes:
    """The raw body; stops reading as soon as it is too long, whatever its header says."""
    too_large = DeliveryRejected(f"the body is larger than {max_body} bytes", status=413)
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared) > max_body:
        raise too_large
    parts: list[bytes] = []
    size = 0
    async for part in request.stream():
        size += len(part)
        if size > max_body:
            raise too_large
        parts.append(part)
    return b"".join(parts)
