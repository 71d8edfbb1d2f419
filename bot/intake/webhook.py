"""POST /webhook: check, cut down, route, write down, answer 202 within a second.

Nobody is known before the last byte of a body is there, so everything up to then is within limits: what the headers
show is refused before the body is read, and all bodies together have one budget.
"""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect

from bot.domain.delivery import Receipt
from bot.domain.http import HttpLimits
from bot.errors import DeliveryRejected, QueueError, SettingsError
from bot.front.bodies import Bodies
from bot.github.events import Delivery, check_headers, read_delivery
from bot.github.signature import SIGNATURE, Signature
from bot.intake.identity import OwnApp
from bot.intake.router import route
from bot.ports import DeliveryInbox

MAX_BODY = 25 * 1024 * 1024
"""GitHub sends nothing larger."""

ANSWER_WITHIN_S = 0.9
"""Whether the database can be written is known by then, or GitHub is told to come again."""
RETRY_AFTER = {"retry-after": "10"}
"""Sent with every 503, in seconds."""

log = logging.getLogger(__name__)


def webhook_router(
    *,
    secret: str,
    inbox: DeliveryInbox,
    own: OwnApp,
    max_body: int = MAX_BODY,
    answer_within_s: float = ANSWER_WITHIN_S,
    limits: HttpLimits | None = None,
) -> APIRouter:
    """The route that takes GitHub's deliveries.

    Args:
        secret: What deliveries are signed with.
        inbox: Where a delivery is written down before it is answered.
        own: Who we are.
        max_body: Largest body read, in bytes.
        answer_within_s: When to give up on the inbox.
        limits: Limits on all bodies together; the defaults when not given.

    Raises:
        SettingsError: there is no secret; an empty one would let everybody in.
    """
    if not secret:
        raise SettingsError("no webhook secret", "set METAAGENT_WEBHOOK_SECRET to the secret of the GitHub App")
    limits = limits or HttpLimits()
    bodies = Bodies(limits.bodies_bytes, max_body, limits.body_s)

    async def receive(request: Request) -> JSONResponse:
        """Take one delivery."""
        try:
            signature, event, name = _checked(request.headers)
            with bodies.open(request.headers.get("content-length")) as body:
                signed = Signature(secret)
                await bodies.read(body, request.stream(), signed.update)
                if not signed.matches(signature):
                    raise _unsigned()
                delivery = read_delivery(event, name, b"".join(body.parts), fingerprint=signed.fingerprint)
                receipt = await _in_time(take_in(delivery, inbox, own), answer_within_s)
        except ClientDisconnect:
            return JSONResponse({"error": "the sender went away"}, 400)
        except DeliveryRejected as error:
            log.warning("delivery rejected: %s", error.message, extra={"status": error.status})
            again = RETRY_AFTER if error.status == 503 else None  # noqa: PLR2004
            return JSONResponse({"error": error.message}, error.status, again)
        except (QueueError, TimeoutError) as error:
            log.warning("delivery not taken: %s", getattr(error, "message", "the inbox does not answer"))
            message = "the inbox cannot be written now; deliver again"
            return JSONResponse({"error": message}, 503, RETRY_AFTER)
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
    receipt = await inbox.accept(delivery.id, delivery.event, delivery.action, decision, delivery.fingerprint)
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


def _checked(headers: Headers) -> tuple[str, str, str]:
    """Return signature, event and id of a delivery; refuse what needs no body to be refused.

    Raises:
        DeliveryRejected: a header is missing or malformed.
    """
    signature = headers.get("x-hub-signature-256", "")
    if SIGNATURE.fullmatch(signature) is None:
        raise _unsigned()
    media_type = headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != "application/json":
        raise DeliveryRejected("the content type must be application/json", status=415)
    return signature, *check_headers(headers.get("x-github-event"), headers.get("x-github-delivery"))


def _unsigned() -> DeliveryRejected:
    return DeliveryRejected("the signature is missing or wrong", status=401)
