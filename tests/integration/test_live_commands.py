"""`doctor --live` and `simulate` ask a local GitHub everything and change nothing there."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from bot.settings import Settings, load
from bot.setup.finding import SetupFinding
from bot.terminal.doctor import examine
from bot.terminal.simulate import SimulateOrder, SimulateResult, run_simulate
from tests.github_server.fixtures import app_key, local_github, receiver
from tests.github_server.receiver import WebhookReceiver
from tests.github_server.server import LocalGitHub
from tests.unit.bot.conftest import loggers_as_they_were

__all__ = ["app_key", "local_github", "loggers_as_they_were", "receiver"]

pytestmark = pytest.mark.shared
REPOSITORY = "octo/shop"
RED = "on: [push, pull_request]\njobs:\n  tests:\n    runs-on: ubuntu-latest\n    steps:\n      - run: exit 1\n"
WORKFLOW = ".github/workflows/ci.yml"


@pytest.fixture
def settings(local_github: LocalGitHub, tmp_path: Path) -> Callable[[], Settings]:
    """The settings of our App on the local GitHub."""

    def made() -> Settings:
        options = {
            "app_id": str(local_github.app_id),
            "app_slug": local_github.app_slug,
            "private_key": local_github.private_key_pem,
            "webhook_secret": local_github.webhook_secret,
            "github_api_url": local_github.api_url,
            "data_dir": str(tmp_path / "data"),
            "sandbox.backend": "local",
            "sandbox.local_uid": "65532",
            "log_level": "error",
        }
        return load(options, environment={})

    return made


def found(settings: Settings) -> dict[str, SetupFinding]:
    return {finding.subject: finding for finding in examine(settings, live=True)}


def written(github: LocalGitHub) -> list[str]:
    """Every request that could change something, tokens left out."""
    writes = [
        one for one in github.requests if not one.startswith(("GET", "POST /app/installations/"))
    ]
    return [one for one in writes if one != "DELETE /installation/token"]


def test_the_doctor_names_what_is_missing_and_changes_nothing(
    local_github: LocalGitHub, receiver: WebhookReceiver, settings: Callable[[], Settings]
) -> None:
    local_github.webhook_url = receiver.url
    receiver.status = 401
    local_github.create_repository(
        "octo", "shop", {WORKFLOW: RED.replace("[push, pull_request]", "workflow_dispatch")}
    )
    readable = ("actions", "checks", "contents", "metadata", "pull_requests")
    local_github.set_app_permissions("octo", dict.fromkeys(readable, "read"))
    local_github.hub.webhooks.drain()
    findings = found(settings())
    assert "contents: write, pull_requests: write" in findings["installed: octo"].message
    assert "status 401" in findings["webhook"].message
    assert "METAAGENT_WEBHOOK_SECRET" in findings["webhook"].advice
    assert "no CI runs on our fixes" in findings["octo/shop"].message
    assert WORKFLOW in findings["octo/shop"].advice
    assert written(local_github) == []


def test_a_repository_that_is_well_is_told_so(
    local_github: LocalGitHub, receiver: WebhookReceiver, settings: Callable[[], Settings]
) -> None:
    local_github.webhook_url = receiver.url
    local_github.create_repository("octo", "shop", {WORKFLOW: RED})
    local_github.hub.webhooks.drain()
    findings = found(settings())
    live = ("permissions", "events", "webhook", "octo/shop")
    assert {subject: findings[subject].state for subject in live} == dict.fromkeys(live, "ok")
    local_github.suspend("octo")
    assert found(settings())["installed: octo"].message == "suspended"


def simulated(settings: Settings, folder: Path, received: dict[str, object]) -> SimulateResult:
    path = folder / "payload.json"
    path.write_text(json.dumps(received))
    return run_simulate(SimulateOrder(str(path)), settings)


@pytest.mark.usefixtures("loggers_as_they_were")
def test_a_red_check_is_followed_to_its_mission_and_nothing_is_written(
    local_github: LocalGitHub,
    receiver: WebhookReceiver,
    settings: Callable[[], Settings],
    tmp_path: Path,
) -> None:
    local_github.webhook_url = receiver.url
    local_github.create_repository(
        "octo", "shop", {WORKFLOW: RED, ".github/metaagent.yml": "mode: staged\n"}
    )
    red = receiver.wait_for(lambda one: one.title == "workflow_run.completed")
    result = simulated(settings(), tmp_path, red.payload)
    assert "one mission for 1 red checks: tests" in result.text
    assert "mode: staged" in result.text
    assert f"workflow: {WORKFLOW}" in result.text
    assert result.json_object["admission"]["refusal"] is None
    assert result.json_object["writes"] == []
    assert written(local_github) == []
    assert not (tmp_path / "data").exists()
    local_github.push(REPOSITORY, "main", {"a.py": "x = 1\n"})
    later = simulated(settings(), tmp_path, red.payload)
    assert "not admitted" in later.text
    assert "has moved on" in later.text


@pytest.mark.usefixtures("loggers_as_they_were")
def test_a_command_is_answered_on_paper(
    local_github: LocalGitHub,
    receiver: WebhookReceiver,
    settings: Callable[[], Settings],
    tmp_path: Path,
) -> None:
    local_github.webhook_url = receiver.url
    local_github.create_repository("octo", "shop", {"a.py": "x = 1\n"})
    local_github.push(REPOSITORY, "feature", {"a.py": "x = 2\n"})
    pull = local_github.open_pull_request(REPOSITORY, "feature")
    local_github.set_permission(REPOSITORY, "guest", "read")
    for person in ("octo", "guest"):
        local_github.comment(REPOSITORY, pull.number, person, "/metaagent config")
    local_github.hub.webhooks.drain()
    asked = [one.payload for one in receiver.received if one.event == "issue_comment"]
    owner, guest = (simulated(settings(), tmp_path, one) for one in asked)
    assert [one["what"] for one in owner.json_object["writes"]][-1] == f"comment on #{pull.number}"
    assert "automatic" in owner.text
    assert guest.json_object["writes"] == []
    assert "refused" in guest.text
    assert written(local_github) == []
    assert local_github.comments(REPOSITORY, pull.number)[-1].user == "guest"
