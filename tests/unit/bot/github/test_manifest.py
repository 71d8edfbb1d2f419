"""What set-up asks GitHub for, and what it reads of the answer."""

import json
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from bot.errors import GitHubError
from bot.github.gateway import NEEDED
from bot.github.manifest import DASHBOARD_EVENTS, EVENTS, NewApp, convert, creation_url, manifest


def test_only_what_is_used_is_asked_for() -> None:
    asked = manifest(
        name="x" * 60, page="http://localhost:8080", public="https://bot.example.com", reruns=False
    )
    assert asked["default_permissions"] == dict(NEEDED)
    assert not {"workflows", "administration", "members", "secrets"} & set(
        asked["default_permissions"]
    )
    assert asked["public"] is False
    assert len(asked["name"]) == 34


def test_every_event_comes_with_the_permission_it_needs() -> None:
    assert {*EVENTS.values(), *DASHBOARD_EVENTS.values()} <= set(NEEDED)


@pytest.mark.parametrize(
    ("api", "organization", "page"),
    [
        ("https://api.github.com/", "", "https://github.com/settings/apps/new"),
        (
            "https://api.github.com",
            "acme",
            "https://github.com/organizations/acme/settings/apps/new",
        ),
        ("https://ghe.corp/api/v3/", "", "https://ghe.corp/settings/apps/new"),
        ("https://api.acme.ghe.com/", "", "https://acme.ghe.com/settings/apps/new"),
        (
            "https://ghe.corp/api/v3",
            "a/b",
            "https://ghe.corp/organizations/a%2Fb/settings/apps/new",
        ),
    ],
)
def test_the_browser_goes_to_the_github_whose_api_it_is(
    api: str, organization: str, page: str
) -> None:
    url = creation_url(api, organization, "s&t=1")
    assert url.partition("?")[0] == page
    assert parse_qs(urlsplit(url).query) == {"state": ["s&t=1"]}


@pytest.mark.shared
def test_what_github_answered_once_is_read(shared: Path) -> None:
    recorded = sorted(
        (shared / "github" / "rest-recorded" / "apps__create-from-manifest").glob("*.json")
    )
    assert recorded
    for path in recorded:
        exchange = json.loads(path.read_text())["response"]
        if exchange["status"] == 201:
            app = NewApp.model_validate(exchange["body"])
            assert app.slug
            assert app.pem.get_secret_value()


@pytest.mark.anyio
@pytest.mark.parametrize("code", ["", "../../user", "a b", "x" * 300, "ü"])
async def test_a_code_that_github_cannot_have_given_is_not_sent(code: str) -> None:
    with pytest.raises(GitHubError, match="malformed"):
        await convert("http://127.0.0.1:9/", code)


@pytest.mark.anyio
async def test_a_github_that_is_not_there_is_told() -> None:
    with pytest.raises(GitHubError, match="cannot be reached"):
        await convert("http://127.0.0.1:9", "abc")
