"""Checks of requests to the dashboard: address, session and form."""

import hmac
import re
from typing import Any
from urllib.parse import parse_qs, urlsplit

from fastapi import Request
from fastapi.responses import HTMLResponse, Response
from pydantic import SecretStr

from bot.dashboard.render import BASE, render
from bot.dashboard.sessions import Session, Sessions
from bot.setup.requests import is_loopback

COOKIE = "metaagent_session"
API = "/api"
"""Path of the JSON API."""
PATHS = (BASE, API)
"""Paths to which browsers send the session's cookie; other paths of this host do not get it."""
FORM_BYTES = 16_384
"""Largest form, in bytes."""
_HOST = re.compile(r"[A-Za-z0-9.-]{1,253}(:\d{1,5})?|\[[0-9A-Fa-f:]{2,45}\](:\d{1,5})?")
HEADERS = {
    "content-security-policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-frame-options": "DENY",
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


class Refused(Exception):
    """A refused request, with the status and the text of its page."""

    def __init__(self, status: int, title: str, text: str) -> None:
        super().__init__(title)
        self.status = status
        self.title = title
        self.text = text


NOT_FOUND = (404, "Not found", "There is no such page, or you may not see it.")


def check_origin(request: Request, public_url: str | None) -> str:
    """Return the origin of the pages as the browser knows it.

    Raises:
        Refused: the connection could be eavesdropped, or the Host header is malformed.
    """
    host = request.headers.get("host", "")
    if _HOST.fullmatch(host) is None:
        raise Refused(400, "Wrong address", "The Host header is malformed.")
    public = urlsplit(public_url or "")
    origin = f"{public.scheme if public.netloc == host else request.url.scheme}://{host}"
    if origin.startswith("https:") or is_loopback(origin):
        return origin
    port = host.rpartition(":")[2] if ":" in host else "80"
    raise Refused(
        403,
        "Not over plain HTTP",
        "Others on the network could read what you see. Open this page over https, with "
        "METAAGENT_PUBLIC_URL set to that address, or through a tunnel: "
        f"ssh -L {port}:localhost:{port} this-machine",
    )


async def session_of(request: Request, sessions: Sessions) -> Session | None:
    """Return the session of a request, or None without a valid one.

    Raises:
        StoreError: the database cannot be used.
    """
    return await sessions.find(request.cookies.get(COOKIE))


def is_operators(given: str, token: SecretStr | None) -> bool:
    """Return True if a text is the operator's token; without a token, none is."""
    known = token.get_secret_value() if token is not None else ""
    return bool(known) and hmac.compare_digest(given.encode("utf-8", "replace"), known.encode())


async def read_form(request: Request, origin: str, session: Session | None) -> dict[str, str]:
    """Return the fields of a form that was sent from one of our pages.

    Args:
        request: The request.
        origin: The origin of our pages.
        session: The person's session; the form must contain its token.

    Raises:
        Refused: the form comes from elsewhere, is too long, or its session is another one.
    """
    if request.headers.get("origin") != origin:
        raise Refused(403, "Not from here", "This form was not sent from this page.")
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > FORM_BYTES:
            raise Refused(413, "Too long", "The form is too long.")
    fields = parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True)
    form = {name: values[0] for name, values in fields.items()}
    given = form.get("form_token", "").encode()
    if session is not None and not hmac.compare_digest(given, session.form_token.encode()):
        raise Refused(403, "Not from here", "The page is out of date: reload it and try again.")
    return form


def set_session(response: Response, secret: str, origin: str, hours: int) -> None:
    """Put a session into the person's cookie."""
    for path in PATHS:
        response.set_cookie(
            COOKIE,
            secret,
            max_age=hours * 3600,
            path=path,
            httponly=True,
            samesite="lax",
            secure=origin.startswith("https:"),
        )


def sealed(response: Response) -> Response:
    """Add the security headers."""
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
    return response


def page(template: str, status: int = 200, **values: Any) -> HTMLResponse:
    """Return a page as a response."""
    return HTMLResponse(render(template, **values), status)
