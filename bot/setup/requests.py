"""Checks of requests to the set-up pages."""

import ipaddress
import re
from urllib.parse import parse_qs, urlsplit

from fastapi import Request

from bot.errors import SettingsError
from bot.settings import Settings
from bot.setup import pages

MOST_BYTES = 16_384
"""Largest form, in bytes."""
_HOST = re.compile(r"[A-Za-z0-9.-]{1,253}(:\d{1,5})?|\[[0-9A-Fa-f:]{2,45}\](:\d{1,5})?")
_ORGANIZATION = re.compile(r"([A-Za-z0-9](?:[A-Za-z0-9-]{0,38}))?")
_ADDRESS = re.compile(rf"https?://({_HOST.pattern})")


class RequestRefused(Exception):
    """A refused request, with the page to answer."""

    def __init__(self, page: str, status: int) -> None:
        super().__init__(page)
        self.page = page
        self.status = status


def check_origin(request: Request, settings: Settings, *, is_closed: bool) -> str:
    """Return the pages' origin as the browser knows it.

    Raises:
        RequestRefused: set-up is closed, or the connection could be eavesdropped.
    """
    if is_closed:
        raise RequestRefused(
            pages.refusal_page("Set up", "MetaAgent is set up; these pages are closed."), 404
        )
    host = request.headers.get("host", "")
    if _HOST.fullmatch(host) is None:
        raise RequestRefused(
            pages.refusal_page("Wrong address", "The Host header is malformed."), 400
        )
    public = urlsplit(settings.public_url or "")
    origin = f"{public.scheme if public.netloc == host else request.url.scheme}://{host}"
    if origin.startswith("https:") or is_loopback(origin):
        return origin
    port = host.rpartition(":")[2] if ":" in host else "80"
    advice = (
        "Open this page over https, and set METAAGENT_PUBLIC_URL to that address "
        "or METAAGENT_HTTP__PROXIES to the proxy's. Or use a tunnel: "
        f"ssh -L {port}:localhost:{port} this-machine, then http://localhost:{port}/setup."
    )
    message = "Over plain HTTP, others on the network could read the App's keys."
    raise RequestRefused(pages.refusal_page("Not over plain HTTP", message, advice), 403)


async def read_form(request: Request, origin: str) -> dict[str, str]:
    """Return the fields of a form sent from one of our pages.

    Raises:
        RequestRefused: the form comes from elsewhere or is too long.
    """
    if request.headers.get("origin") != origin:
        raise RequestRefused(
            pages.refusal_page("Not from here", "This form was not sent from this page."), 403
        )
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > MOST_BYTES:
            raise RequestRefused(pages.refusal_page("Too long", "The form is too long."), 413)
    return {name: values[0] for name, values in parse_qs(body.decode("utf-8", "replace")).items()}


def is_loopback(address: str) -> bool:
    """Return True if an address is on the browser's own machine."""
    try:
        host = urlsplit(address).hostname or ""
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def public_address(settings: Settings, origin: str) -> str:
    """Return the address at which GitHub presumably reaches us, or an empty string."""
    if settings.public_url:
        return settings.public_url.rstrip("/")
    return origin if not is_loopback(origin) or is_loopback(settings.github_api_url) else ""


def check_app(settings: Settings, *, name: str, organization: str, public: str) -> None:
    """Check the fields of the App's form.

    Raises:
        SettingsError: a field is invalid.
    """
    if not name:
        raise SettingsError("The App needs a name", "choose one")
    if _ORGANIZATION.fullmatch(organization) is None:
        raise SettingsError(
            "This is not the name of an organization",
            "enter it as in the organization's address on GitHub",
        )
    if _ADDRESS.fullmatch(public) is None:
        raise SettingsError(
            "This is not the address of a server", "enter one like https://bot.example.com"
        )
    if is_loopback(public) and not is_loopback(settings.github_api_url):
        raise SettingsError(
            "GitHub cannot reach this address", "enter one that is reachable from the internet"
        )
