"""POST /webhook: check, parse, route and store a delivery, and answer 202 within a second.

The sender is unauthenticated until the whole body is read. So headers are checked first, and all
bodies in memory share one budget.
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
"""GitHub's limit of a body, in bytes."""

ANSWER_WITHIN_S = 0.9
"""Time for storing a delivery, in seconds; after it, GitHub is asked to deliver again."""
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
    """Return the route for GitHub's deliveries.

    Args:
        secret: The webhook secret.
        inbox: Stores a delivery before it is answered.
        own: The identity of our App.
        max_body: Largest body read, in bytes.
        answer_within_s: Timeout of the inbox, in seconds.
        limits: Limits on all bodies together; None for the defaults.

    Raises:
        SettingsError: the secret is empty, so everybody could sign.
    """
    if not secret:
        raise SettingsError(
            "no webhook secret", "set METAAGENT_WEBHOOK_SECRET to the secret of the GitHub App"
        )
    limits = limits or HttpLimits()
    bodies = Bodies(limits.bodies_bytes, max_body, limits.body_s)

    async def receive(request: Request) -> JSONResponse:
        """Handle one delivery."""
        try:
            signature, event, name = _check(request.headers)
            with bodies.open(request.headers.get("content-length")) as body:
                signed = Signature(secret)
                await bodies.read(body, request.stream(), signed.update)
                if not signed.matches(signature):
                    raise _unsigned()
                delivery = read_delivery(
                    event, name, b"".join(body.parts), fingerprint=signed.fingerprint
                )
                receipt = await _in_time(take_in(delivery, inbox, own), answer_within_s)
        except ClientDisconnect:
            return JSONResponse({"error": "the sender disconnected"}, 400)
        except DeliveryRejected as error:
            log.warning("delivery rejected: %s", error.message, extra={"status": error.status})
            again = RETRY_AFTER if error.status == 503 else None  # noqa: PLR2004
            return JSONResponse({"error": error.message}, error.status, again)
        except (QueueError, TimeoutError) as error:
            log.warning("delivery not stored: %s", getattr(error, "message", "the inbox timed out"))
            message = "the inbox is unavailable; deliver again"
            return JSONResponse({"error": message}, 503, RETRY_AFTER)
        return JSONResponse(receipt.model_dump(include={"delivery", "result", "reason"}), 202)

    router = APIRouter()
    # A plain route: the handler reads and checks the body itself, without FastAPI's parsing.
    router.add_route("/webhook", receive, methods=["POST"])
    return router


async def take_in(delivery: Delivery, inbox: DeliveryInbox, own: OwnApp) -> Receipt:
    """Decide on a delivery and store it.

    Raises:
        DeliveryRejected: the payload does not have GitHub's format.
        QueueError: the delivery could not be stored.
    """
    decision = route(delivery, own)
    receipt = await inbox.accept(
        delivery.id, delivery.event, delivery.action, decision, delivery.fingerprint
    )
    # Most deliveries are ignored; the inbox keeps the reason.
    log.log(
        logging.INFO if receipt.result == "queued" else logging.DEBUG,
        "delivery %s: %s",
        receipt.result,
        receipt.reason or receipt.mission_id or "",
        extra={"delivery": delivery.id, "event": delivery.event, "action": delivery.action},
    )
    return receipt


async def _in_time(taking: Coroutine[Any, Any, Receipt], within_s: float) -> Receipt:
    """Return the receipt; if it is stored later, GitHub's redelivery counts as a duplicate.

    Raises:
        TimeoutError: there is no receipt in time.
    """
    task = asyncio.create_task(taking)
    try:
        # Unlike `asyncio.timeout`, this returns a finished receipt even if the process was paused.
        await asyncio.wait({task}, timeout=within_s)
        if not task.done():
            raise TimeoutError
        return task.result()
    finally:
        task.cancel()


def _check(headers: Headers) -> tuple[str, str, str]:
    """Return signature, event and id of a delivery; reject it early if its headers are wrong.

    Raises:
        DeliveryRejected: a header is missing or malformed.
    """
    signature = headers.get("x-hub-signature-256", "")
    if SIGNATURE.fullmatch(signature) is None:
        raise _unsigned()
    media_type = headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != "application/json":
        raise DeliveryRejected("the content type must be application/json", status=415)
    return signature, *check_headers(
        headers.get("x-github-event"), headers.get("x-github-delivery")
    )


def _unsigned() -> DeliveryRejected:
    return DeliveryRejected("the signature is missing or wrong", status=401)
