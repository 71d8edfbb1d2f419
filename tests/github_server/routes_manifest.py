"""Making our App from a manifest: the page a browser posts to, and the code that becomes the App."""

import json
import secrets
from typing import Any
from urllib.parse import parse_qs, urlencode

from starlette.responses import HTMLResponse, RedirectResponse, Response

from tests.github_server.entities import App, Json
from tests.github_server.errors import not_found
from tests.github_server.hub import Hub
from tests.github_server.keys import new_private_key
from tests.github_server.render import app_json
from tests.github_server.routing import Call, Reply, Route
from tests.github_server.webhooks import LOOPBACK, NEEDS, host_of

LONGEST_NAME = 34


def create_from_page(hub: Hub, organization: str | None, query: str, body: bytes) -> Response:
    """The person pressed "Create GitHub App": check the manifest and send the browser back with a code."""
    form, asked = parse_qs(body.decode()), parse_qs(query)
    try:
        manifest: Json = json.loads(form["manifest"][0])
    except (KeyError, ValueError):
        return HTMLResponse("Error: manifest is not valid JSON", 422)
    problem = _problem(hub, manifest)
    if problem:
        return HTMLResponse(f"Invalid GitHub App configuration: {problem}", 422)
    code = secrets.token_hex(20)
    hub.world.manifests[code] = (organization, manifest)
    state = {"state": asked["state"][0]} if "state" in asked else {}
    return RedirectResponse(f"{manifest['redirect_url']}?{urlencode({'code': code, **state})}", 302)


def _problem(hub: Hub, manifest: Json) -> str | None:
    """What GitHub has against a manifest."""
    name = str(manifest.get("name") or "")
    if len(name) > LONGEST_NAME:
        return f"Name is too long (maximum is {LONGEST_NAME} characters)"
    if name and slug_of(name) in {app.slug for app in hub.world.apps.values()} - {
        hub.world.app.slug
    }:
        return "Name is already taken"
    for key in ("name", "url", "redirect_url"):
        if not manifest.get(key):
            return f'"{key}" wasn\'t supplied'
    held = manifest.get("default_permissions") or {}
    events: list[str] = manifest.get("default_events") or []
    without = [one for one in events if held.get(NEEDS.get(one, ""), "none") == "none"]
    if without:
        return f"Default events unsupported or not covered by the permissions: {', '.join(without)}"
    hook = (manifest.get("hook_attributes") or {}).get("url")
    if (manifest.get("hook_attributes") or {}).get("active", True) and not hook:
        return "Hook url wasn't supplied"
    return None


def slug_of(name: str) -> str:
    """An App's slug from its name."""
    return "-".join("".join(one if one.isalnum() else " " for one in name.lower()).split())


def convert(call: Call) -> Reply:
    """POST /app-manifests/{code}/conversions: the code works once; from then on our App is the new one."""
    world = call.world
    found = world.manifests.pop(call.params["code"], None)
    if found is None:
        raise not_found()
    organization, manifest = found
    app = App(
        world.next_id(),
        slug_of(manifest["name"]),
        manifest["name"],
        organization or world.app.owner,
        {"metadata": "read", **(manifest.get("default_permissions") or {})},
        tuple(manifest.get("default_events") or ()),
    )
    world.become(app, new_private_key(), secrets.token_hex(20))
    hook = (manifest.get("hook_attributes") or {}).get("url") or ""
    # Where GitHub would reach the bot by a public name, the test says where that is; nothing is sent elsewhere.
    call.hub.webhooks.url = hook if host_of(hook) in LOOPBACK else call.hub.webhooks.url
    answer: Json = {
        **app_json(world, app),
        "client_secret": secrets.token_hex(20),
        "webhook_secret": world.webhook_secret,
        "pem": world.private_key_pem,
    }
    return Reply(answer, 201)


def _config(call: Call) -> Json:
    return {
        "content_type": "json",
        "insecure_ssl": "0",
        "secret": "********",
        "url": call.hub.webhooks.url,
    }


def get_hook_config(call: Call) -> Reply:
    """GET /app/hook/config."""
    return Reply(_config(call))


def update_hook_config(call: Call) -> Reply:
    """PATCH /app/hook/config."""
    body: dict[str, Any] = call.body
    call.hub.webhooks.url = body.get("url", call.hub.webhooks.url)
    call.world.webhook_secret = body.get("secret", call.world.webhook_secret)
    return Reply(_config(call))


ROUTES = (
    Route("POST", "/app-manifests/{code}/conversions", convert),
    Route("GET", "/app/hook/config", get_hook_config),
    Route("PATCH", "/app/hook/config", update_hook_config),
)
