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

pytestmark = pytest.mark.shared
# Keys GitHub added after the payloads of an event were recorded; its description has them.
NEWER = {
    *("user_view_type", "client_id", "app_slug", "slug", "single_file_paths", "has_multiple_single_files"),
    *("allow_forking", "has_discussions", "rerequestable", "runs_rerequestable", "subject_type", "auto_merge", "draft"),
    *("closed_by", "state_reason", "actions"),
}


def paths(value: Any, prefix: str = "") -> set[str]:
    """The way to every key of a payload."""
    if isinstance(value, list):
        return set().union(*(paths(one, f"{prefix}[]") for one in value))
    if not isinstance(value, dict):
        return set()
    return {f"{prefix}.{key}" for key in value}.union(*(paths(one, f"{prefix}.{key}") for key, one in value.items()))


def recorded(shared: Path) -> dict[str, list[set[str]]]:
    """The keys of the payloads github.com sent, by event."""
    folder = shared / "github" / "payloads"
    found = defaultdict(list)
    for entry in json.loads((folder / "index.json").read_text(encoding="utf-8")):
        if entry["platform"] == "api.github.com" and entry["file"].startswith("public/"):
            found[entry["event"]].append(paths(json.loads((folder / entry["file"]).read_text(encoding="utf-8"))))
    return found


def always(payloads: list[set[str]]) -> set[str]:
    """The keys all of them have."""
    return payloads[0].intersection(*payloads[1:])


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
    theirs = recorded(shared)
    ours: dict[str, list[set[str]]] = defaultdict(list)
    local_github.webhook_url = receiver.url
    everything(local_github)
    for one in receiver.received:
        ours[one.event].append(paths(one.payload))
    assert set(theirs) == set(ours)
    for event, sent in ours.items():
        missing = always(theirs[event]) - always(sent)
        assert not missing, f"{event} lacks {sorted(missing)}"
        extra = set().union(*sent) - set().union(*theirs[event])
        invented = {one for one in extra if one.rpartition(".")[2] not in NEWER}
        assert not invented, f"{event} has {sorted(invented)}"
