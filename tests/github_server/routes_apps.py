"""The App itself: who it is, its installations, its tokens and its hook deliveries."""

from tests.github_server import events_app
from tests.github_server.auth import LEVELS, covers, mint
from tests.github_server.entities import Installation, Json
from tests.github_server.errors import ApiError, invalid, not_found
from tests.github_server.render import app_json, installation_json, repository_json
from tests.github_server.routing import Call, Reply, Route, page
from tests.github_server.webhooks import Delivery


def get_app(call: Call) -> Reply:
    """GET /app."""
    return Reply(
        {
            **app_json(call.world, call.world.app),
            "installations_count": len(call.world.installations),
        }
    )


def get_app_by_slug(call: Call) -> Reply:
    """GET /apps/{app_slug}."""
    for app in call.world.apps.values():
        if app.slug == call.params["app_slug"]:
            return Reply(app_json(call.world, app))
    raise not_found()


def list_installations(call: Call) -> Reply:
    """GET /app/installations."""
    return page(
        call, [installation_json(call.world, one) for one in call.world.installations.values()]
    )


def _installation(call: Call) -> Installation:
    found = call.world.installations.get(call.number("installation_id"))
    if found is None:
        raise not_found()
    return found


def get_installation(call: Call) -> Reply:
    """GET /app/installations/{installation_id}."""
    return Reply(installation_json(call.world, _installation(call)))


def get_repository_installation(call: Call) -> Reply:
    """GET /repos/{owner}/{repo}/installation."""
    found = call.world.installation_of(call.repo)
    if found is None:
        raise not_found()
    return Reply(installation_json(call.world, found))


def get_account_installation(call: Call) -> Reply:
    """GET /orgs/{org}/installation and /users/{username}/installation."""
    account = (call.params.get("org") or call.params["username"]).lower()
    for one in call.world.installations.values():
        if one.account.lower() == account:
            return Reply(installation_json(call.world, one))
    raise not_found()


def suspend(call: Call) -> Reply:
    """PUT /app/installations/{installation_id}/suspended."""
    events_app.suspend(call.hub, _installation(call), suspended=True)
    return Reply(status=204)


def create_token(call: Call) -> Reply:
    """POST /app/installations/{installation_id}/access_tokens."""
    world, installation = call.world, _installation(call)
    if installation.suspended_at:
        raise ApiError(403, "This installation has been suspended")
    body: Json = call.body or {}
    permissions = body.get("permissions") or dict(installation.permissions)
    for name, level in permissions.items():
        if LEVELS.get(level, 9) > LEVELS[installation.permissions.get(name, "none")]:
            raise invalid("The permissions requested are not granted to this installation.")
    permissions = {**permissions, "metadata": "read"}
    ids = _wanted_repositories(call, installation, body)
    token = mint(world, installation, permissions, ids)
    answer: Json = {
        "token": token.value,
        "expires_at": token.expires_at,
        "permissions": permissions,
        "repository_selection": "all" if ids is None else "selected",
    }
    if ids is not None:
        answer["repositories"] = [
            repository_json(world, world.repositories[number]) for number in sorted(ids)
        ]
    return Reply(answer, 201)


def _wanted_repositories(call: Call, installation: Installation, body: Json) -> set[int] | None:
    """The repositories a token is for: those asked for, else those of the installation."""
    asked = set(body.get("repository_ids") or [])
    for name in body.get("repositories") or []:
        found = call.world.find(installation.account, name)
        asked.add(found.id if found else -1)
    if not asked:
        return installation.repository_ids
    for number in asked:
        repo = call.world.repositories.get(number)
        if repo is None or call.world.installation_of(repo) is not installation:
            raise invalid(
                "There is at least one repository that does not exist or is not accessible to the parent installation."
            )
    return asked


def revoke_token(call: Call) -> Reply:
    """DELETE /installation/token."""
    if call.actor.token:
        call.world.tokens.pop(call.actor.token.value, None)
    return Reply(status=204)


def list_repositories(call: Call) -> Reply:
    """GET /installation/repositories."""
    found = [
        repo for repo in call.world.repositories.values() if covers(call.world, call.actor, repo)
    ]
    listed = page(call, [repository_json(call.world, repo) for repo in found], "repositories")
    ids = call.actor.token.repository_ids if call.actor.token else None
    listed.body["repository_selection"] = "all" if ids is None else "selected"
    return listed


def delivery_json(delivery: Delivery) -> Json:
    """A delivery as the list shows it."""
    return {
        "id": delivery.id,
        "guid": delivery.guid,
        "delivered_at": delivery.delivered_at,
        "redelivery": delivery.redelivery,
        "duration": delivery.duration,
        "status": delivery.status,
        "status_code": delivery.status_code,
        "event": delivery.event,
        "action": delivery.action,
        "installation_id": delivery.installation_id,
        "repository_id": delivery.repository_id,
        "throttled_at": None,
    }


def list_deliveries(call: Call) -> Reply:
    """GET /app/hook/deliveries: newest first, pages by cursor."""
    log = list(reversed(call.hub.webhooks.log))
    wanted = call.query.get("per_page", "30")
    size = min(int(wanted) if wanted.isdigit() else 30, 100, call.world.faults.page_size or 100)
    cursor = call.query.get("cursor", "")
    if cursor.isdigit():
        log = [one for one in log if one.id <= int(cursor)]
    headers = {}
    if len(log) > size:
        target = f"{call.world.api_url}/app/hook/deliveries?per_page={size}&cursor={log[size].id}"
        headers["link"] = f'<{target}>; rel="next"'
    return Reply([delivery_json(one) for one in log[:size]], headers=headers)


def get_delivery(call: Call) -> Reply:
    """GET /app/hook/deliveries/{delivery_id}."""
    number = call.number("delivery_id")
    for one in call.hub.webhooks.log:
        if one.id == number:
            request = {"headers": one.request_headers, "payload": one.payload}
            response = {"headers": one.response_headers, "payload": one.response_body}
            return Reply(
                {
                    **delivery_json(one),
                    "url": call.hub.webhooks.url,
                    "request": request,
                    "response": response,
                }
            )
    raise not_found()


def redeliver(call: Call) -> Reply:
    """POST /app/hook/deliveries/{delivery_id}/attempts."""
    if not call.hub.webhooks.redeliver(call.number("delivery_id")):
        raise not_found()
    return Reply({}, 202)


ROUTES = (
    Route("GET", "/app", get_app),
    Route("GET", "/apps/{app_slug}", get_app_by_slug),
    Route("GET", "/app/installations", list_installations),
    Route("GET", "/app/installations/{installation_id}", get_installation),
    Route("POST", "/app/installations/{installation_id}/access_tokens", create_token),
    Route("GET", "/repos/{owner}/{repo}/installation", get_repository_installation),
    Route("GET", "/orgs/{org}/installation", get_account_installation),
    Route("GET", "/users/{username}/installation", get_account_installation),
    Route("PUT", "/app/installations/{installation_id}/suspended", suspend),
    Route("DELETE", "/installation/token", revoke_token),
    Route("GET", "/installation/repositories", list_repositories),
    Route("GET", "/app/hook/deliveries", list_deliveries),
    Route("GET", "/app/hook/deliveries/{delivery_id}", get_delivery),
    Route("POST", "/app/hook/deliveries/{delivery_id}/attempts", redeliver),
)
