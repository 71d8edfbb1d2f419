"""The local GitHub as the home of an App: its manifest, its installations, its hook."""

import json
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from tests.github_server.clients import RED, REPO, app_client
from tests.github_server.receiver import WebhookReceiver
from tests.github_server.server import LocalGitHub

pytestmark = pytest.mark.shared
MANIFEST = {
    "name": "Octo's MetaAgent",
    "url": "https://bot.example.com",
    "hook_attributes": {"url": "https://bot.example.com/webhook", "active": True},
    "redirect_url": "http://127.0.0.1:9/setup/created",
    "public": False,
    "default_permissions": {"checks": "write", "contents": "write"},
    "default_events": ["check_run", "push"],
}


def test_a_manifest_becomes_our_app_with_a_code_that_works_once(
    local_github: LocalGitHub, receiver: WebhookReceiver, rest: httpx.Client
) -> None:
    local_github.create_repository("octo", "math", RED)
    page = f"{local_github.web_url}/organizations/octo/settings/apps/new?state=s1"
    sent = rest.post(page, data={"manifest": json.dumps(MANIFEST)})
    target = urlsplit(sent.headers["location"])
    asked = parse_qs(target.query)
    assert (sent.status_code, target.path, asked["state"]) == (302, "/setup/created", ["s1"])
    made = httpx.post(
        f"{local_github.api_url}app-manifests/{asked['code'][0]}/conversions", trust_env=False
    )
    app = made.json()
    assert (made.status_code, app["slug"], app["owner"]["login"]) == (
        201,
        "octo-s-metaagent",
        "octo",
    )
    assert app["pem"].startswith("-----BEGIN RSA PRIVATE KEY-----")
    again = httpx.post(
        f"{local_github.api_url}app-manifests/{asked['code'][0]}/conversions", trust_env=False
    )
    assert again.status_code == 404
    client = app_client(local_github)
    assert client.rest.apps.get_authenticated().json()["id"] == app["id"] == local_github.app_id
    assert client.rest.apps.list_installations().json() == []
    client.rest.apps.update_webhook_config_for_app(url=receiver.url, secret="new")
    assert local_github.webhook_secret == "new"
    local_github.install("octo")
    heard = receiver.wait_for(lambda got: got.title == "installation.created").payload
    assert heard["repositories"][0]["full_name"] == REPO
    assert client.rest.apps.get_org_installation("octo").json()["id"] == heard["installation"]["id"]


def test_a_bad_manifest_is_refused_on_the_page(
    local_github: LocalGitHub, rest: httpx.Client
) -> None:
    wrong: dict[str, dict[str, object]] = {
        "too long": {"name": "x" * 35},
        "pull_request": {"default_events": ["pull_request"]},
        "Hook url": {"hook_attributes": {"active": True}},
        "redirect_url": {"redirect_url": None},
        "already taken": {"name": "GitHub Actions"},
    }
    for problem, change in wrong.items():
        body = {"manifest": json.dumps({**MANIFEST, **change})}
        answer = rest.post(f"{local_github.web_url}/settings/apps/new", data=body)
        assert answer.status_code == 422
        assert problem in answer.text


def test_installations_and_their_repositories_come_and_go(
    local_github: LocalGitHub, receiver: WebhookReceiver
) -> None:
    local_github.create_repository("octo", "math", RED)
    local_github.create_repository("octo", "other", RED)
    local_github.webhook_url = receiver.url
    local_github.ping()
    local_github.choose_repositories("octo", removed=["octo/other"])
    local_github.push("octo/other", "main", {"silent.py": ""})
    local_github.choose_repositories("octo", added=["octo/other"])
    client = app_client(local_github)
    number = client.rest.apps.get_repo_installation("octo", "math").json()["id"]
    client.rest.apps.suspend_installation(number)
    assert local_github.settle()
    assert receiver.titles == [
        "ping",
        "installation_repositories.removed",
        "installation_repositories.added",
        "installation.suspend",
    ]
    assert receiver.received[0].payload["hook"]["app_id"] == local_github.app_id
    assert receiver.received[1].payload["repositories_removed"][0]["full_name"] == "octo/other"


def test_a_token_of_a_person_knows_its_person(
    local_github: LocalGitHub, rest: httpx.Client
) -> None:
    assert rest.get("user").json()["login"] == "octo"
    assert httpx.get(f"{local_github.api_url}user", trust_env=False).status_code == 401
