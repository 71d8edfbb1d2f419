"""Events of our App itself: where it is installed, on which repositories, and that its hook is there."""

from tests.github_server.entities import Installation, Json, Repository
from tests.github_server.hub import Hub
from tests.github_server.render import installation_json, node, user_json


def installation_event(hub: Hub, installation: Installation, action: str) -> None:
    """An `installation` event; every App receives these without subscribing."""
    world = hub.world
    covered = [
        repo for repo in world.repositories.values() if world.installation_of(repo) is installation
    ]
    payload: Json = {
        "action": action,
        "installation": installation_json(world, installation),
        "repositories": [_named(repo) for repo in covered],
        "sender": user_json(world, installation.account),
    }
    if action == "created":
        payload["requester"] = None
    hub.webhooks.send("installation", payload, installation=installation.id)


def _named(repo: Repository) -> Json:
    """A repository in the lists of an installation."""
    kept = {"name": repo.name, "full_name": repo.full_name, "private": repo.private}
    return {"id": repo.id, "node_id": node("R", repo.id), **kept}


def suspend(hub: Hub, installation: Installation, *, suspended: bool) -> None:
    """Suspend or unsuspend an installation."""
    installation.suspended_at = hub.world.now() if suspended else None
    installation_event(hub, installation, "suspend" if suspended else "unsuspend")


def select_repositories(
    hub: Hub, installation: Installation, added: list[Repository], removed: list[Repository]
) -> None:
    """Give an installation chosen repositories more or less: an `installation_repositories` event for each list."""
    world = hub.world
    before = installation.repository_ids or set()
    installation.repository_ids = (before | {repo.id for repo in added}) - {
        repo.id for repo in removed
    }
    for action, plus, minus in (("added", added, []), ("removed", [], removed)):
        if not (plus or minus):
            continue
        payload: Json = {
            "action": action,
            "installation": installation_json(world, installation),
            "repository_selection": "selected",
            "repositories_added": [_named(repo) for repo in plus],
            "repositories_removed": [_named(repo) for repo in minus],
            "requester": None,
            "sender": user_json(world, installation.account),
        }
        hub.webhooks.send("installation_repositories", payload, installation=installation.id)


def ping(hub: Hub) -> None:
    """The first event of a hook."""
    world, now = hub.world, hub.world.now()
    config = {
        "content_type": "json",
        "insecure_ssl": "0",
        "secret": "********",
        "url": hub.webhooks.url,
    }
    root = f"{world.api_url}/app/hook"
    hook: Json = {
        "type": "App",
        "id": world.app.id + 1,
        "name": "web",
        "active": True,
        "app_id": world.app.id,
        "events": list(world.app.events),
        "config": config,
        "deliveries_url": f"{root}/deliveries",
        "created_at": now,
        "updated_at": now,
    }
    payload = {"zen": "Design for failure.", "hook_id": hook["id"], "hook": hook}
    hub.webhooks.send("ping", payload)
