"""The local GitHub's webhooks beside those GitHub really sent: no key is missing, and none is invented."""

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from tests.github_server.clients import REPO
from tests.github_server.entities import Ci
from tests.github_server.receiver import WebhookReceiver
from tests.github_server.server import LocalGitHub
from tests.missing import missing as missing_data

pytestmark = pytest.mark.shared


def paths(value: Any, prefix: str = "") -> set[str]:
    """The way to every key of a payload."""
    if isinstance(value, list):
        return set().union(*(paths(one, f"{prefix}[]") for one in value))
    if not isinstance(value, dict):
        return set()
    return {f"{prefix}.{key}" for key in value}.union(
        *(paths(one, f"{prefix}.{key}") for key, one in value.items())
    )


def recorded(shared: Path) -> dict[str, list[set[str]]]:
    """The keys of the payloads github.com sent, by event."""
    folder = shared / "github" / "payloads"
    found = defaultdict(list)
    for entry in json.loads((folder / "index.json").read_text(encoding="utf-8")):
        if entry["platform"] == "api.github.com" and entry["file"].startswith("public/"):
            found[entry["event"]].append(
                paths(json.loads((folder / entry["file"]).read_text(encoding="utf-8")))
            )
    return found


def described(shared: Path) -> tuple[set[str], set[str]]:
    """Return the names of all keys in GitHub's own descriptions, and of those that are required there."""
    known: set[str] = set()
    required: set[str] = set()

    def collect(value: Any) -> None:
        if isinstance(value, list):
            for one in value:
                collect(one)
        elif isinstance(value, dict):
            if isinstance(properties := value.get("properties"), dict):
                known.update(properties)
            if isinstance(names := value.get("required"), list):
                required.update(names)
            for one in value.values():
                collect(one)

    for name in ("github-webhooks-subset.json", "github-openapi-subset.json"):
        collect(json.loads((shared / "github" / name).read_text(encoding="utf-8")))
    return known, required


def last(path: str) -> str:
    return path.rpartition(".")[2]


def always(payloads: list[set[str]]) -> set[str]:
    """The keys all of them have."""
    return payloads[0].intersection(*payloads[1:])


def stands_in_all(path: str, payloads: list[set[str]]) -> bool:
    """Return whether every payload has the object a key belongs to; a map of permissions has any keys."""
    parent = path.rpartition(".")[0]
    whole = all(any(one.startswith(f"{parent}.") for one in payload) for payload in payloads)
    return whole and last(parent) != "permissions"


def everything(github: LocalGitHub) -> None:
    """Let every kind of event happen."""
    github.create_repository("octo", "math", {"a.py": "x=1\n"}, ci=Ci.command("exit 1"))
    github.ping()
    github.install("octo")
    github.push(REPO, "fix", {"a.py": "x=2\n"})
    github.open_pull_request(REPO, "fix")
    github.comment(REPO, 1, "octo", "hi")
    github.label(REPO, 1, "x")
    github.review_comment(REPO, 1, "octo", "b", path="a.py", line=1)
    sha = github.push(REPO, "fix", {"a.py": "x=3\n"})
    github.third_party_check(REPO, sha, "other", "failure")
    github.choose_repositories("octo", removed=[REPO])
    github.choose_repositories("octo", added=[REPO])
    github.close(REPO, 1)
    github.settle()


def test_webhooks_have_the_keys_of_recorded_ones(
    local_github: LocalGitHub, receiver: WebhookReceiver, shared: Path
) -> None:
    theirs, (known, required) = recorded(shared), described(shared)
    ours: dict[str, list[set[str]]] = defaultdict(list)
    local_github.webhook_url = receiver.url
    everything(local_github)
    for one in receiver.received:
        ours[one.event].append(paths(one.payload))
    compared = theirs.keys() & ours.keys()
    if not compared:
        missing_data("no payload is recorded of any event that the local GitHub sends")
    for event in compared:
        lacking = {
            path for path in always(theirs[event]) - always(ours[event]) if last(path) in required
        }
        missing = {path for path in lacking if stands_in_all(path, ours[event])}
        assert not missing, f"{event} lacks {sorted(missing)}"
        extra = set().union(*ours[event]) - set().union(*theirs[event])
        # GitHub added keys after the payloads were recorded; its description has them.
        invented = {path for path in extra if last(path) not in known}
        assert not invented, f"{event} has {sorted(invented)}"
