"""metaagent simulate: every payload has an answer, and without GitHub it says so."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from bot.errors import UsageError
from bot.settings import Settings
from bot.terminal.simulate import SimulateOrder, SimulateResult, detect_event, run_simulate

Make = Callable[..., Settings]
pytestmark = pytest.mark.usefixtures("loggers_as_they_were")


def simulated(
    settings: Settings, folder: Path, payload: object, event: str | None = None
) -> SimulateResult:
    path = folder / "payload.json"
    path.write_text(payload if isinstance(payload, str) else json.dumps(payload))
    return run_simulate(SimulateOrder(str(path), event), settings)


@pytest.mark.shared
def test_every_recorded_payload_has_an_answer(settings: Make, shared: Path) -> None:
    index = json.loads((shared / "github" / "payloads" / "index.json").read_text())
    nothing = settings()
    answers: dict[str, int] = {}
    refused: list[str] = []
    for entry in index:
        path = shared / "github" / "payloads" / entry["file"]
        if not path.is_file():
            continue
        try:
            found = run_simulate(SimulateOrder(str(path), entry["event"], offline=True), nothing)
        except UsageError as error:
            refused.append(error.message)
            continue
        assert found.text.endswith("Nothing was written.")
        kind = found.json_object["decision"]["type"]
        answers[kind] = answers.get(kind, 0) + 1
    assert [message for message in refused if "payload has an unexpected form" not in message] == []
    assert answers, "no payload could be read"


@pytest.mark.shared
def test_the_event_is_told_from_the_payload(shared: Path) -> None:
    index = json.loads((shared / "github" / "payloads" / "index.json").read_text())
    wrong = []
    for entry in index:
        path = shared / "github" / "payloads" / entry["file"]
        if path.is_file() and detect_event(path.read_bytes()) != entry["event"]:
            wrong.append(entry["file"])
    assert wrong == []


def test_without_an_app_it_is_said_that_github_was_not_asked(
    settings: Make, shared: Path, tmp_path: Path
) -> None:
    payload = {
        "action": "completed",
        "check_run": {
            "id": 1,
            "name": "tests",
            "head_sha": "a" * 40,
            "conclusion": "failure",
            "app": {"id": 15368, "slug": "github-actions"},
            "check_suite": {"id": 2, "head_branch": "main"},
            "pull_requests": [],
        },
        "repository": {"id": 3, "full_name": "acme/shop", "default_branch": "main"},
        "installation": {"id": 4},
    }
    found = simulated(settings(), tmp_path, payload)
    assert (
        found.text.splitlines()[0]
        == "check_run.completed: red: acme/shop at aaaaaaaaaaaa on main, check tests"
    )
    assert "GitHub was not asked: there is no App (metaagent setup)" in found.text
    assert found.json_object["decision"]["type"] == "RedHead"


@pytest.mark.parametrize("payload", ["", "[]", "{", "{}", '{"zen": 1, "repository": 3}{'])
def test_what_is_no_payload_is_wrong_use(settings: Make, tmp_path: Path, payload: str) -> None:
    with pytest.raises(UsageError):
        simulated(settings(), tmp_path, payload)


def test_a_file_that_is_not_there_is_wrong_use(settings: Make, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        run_simulate(SimulateOrder(str(tmp_path / "absent")), settings())


def test_what_a_payload_says_cannot_steer_the_terminal(settings: Make, tmp_path: Path) -> None:
    branch = "x\x1b[2J\x07"
    pushed = {
        "ref": f"refs/heads/{branch}",
        "before": "a" * 40,
        "after": "b" * 40,
        "pusher": {"name": "p"},
        "repository": {"id": 3, "full_name": "a/b"},
        "sender": {"login": "p", "type": "User"},
    }
    assert "\x1b" not in simulated(settings(), tmp_path, pushed).text
