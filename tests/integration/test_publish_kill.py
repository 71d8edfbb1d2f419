"""Killed anywhere between the first request of publishing and its checkpoint, and done again: everything is there once."""

import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from typing_extensions import override

from bot.domain.request import RepositoryRef
from tests.builders import a_check, a_commanded_request, a_comment
from tests.github_server.faults import Fault
from tests.github_server.fixtures import app_key
from tests.github_server.server import LocalGitHub, Options, strict_github
from tests.integration.publish_process import Job

__all__ = ["app_key"]

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
KILLS_EACH = 5
GREEN, RED = "def add(a, b):\n    return a + b  # green\n", "def add(a, b):\n    return a - b\n"


@dataclass(slots=True)
class Death(Fault):
    """Kills a process when its n-th request has come: before it is answered, and before or after it is obeyed."""

    pid: int = 0
    left: int = 0
    heard: bool = True
    """Whether the request is obeyed all the same."""

    @override
    def matches(self, method: str, path: str) -> bool:
        self.left -= 1
        if self.left != 0:
            return False
        os.kill(self.pid, signal.SIGKILL)
        return not self.heard


class Publisher:
    """Publishes in processes that may be killed."""

    def __init__(self, server: LocalGitHub, folder: Path) -> None:
        self._server = server
        command = [sys.executable, "-m", "tests.integration.publish_process", str(folder)]
        self.process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )

    def publish(self, job: Job, death: Death | None = None) -> int:
        """The signal that ended it; 0 when it came to its own end."""
        pid = int(self._told(job.model_dump_json()))
        if death is not None:
            death.pid = pid
            self._server.faults.queue.append(death)
        status = int(self._told("go"))
        self._server.faults.queue.clear()
        assert os.WIFSIGNALED(status) or os.waitstatus_to_exitcode(status) == 0
        return os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0

    def _told(self, line: str) -> str:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline()


@pytest.fixture
def server(tmp_path: Path, app_key: str) -> Iterator[LocalGitHub]:
    with strict_github(Options(tmp_path / "github", private_key_pem=app_key)) as running:
        yield running


@pytest.fixture
def publisher(server: LocalGitHub, tmp_path: Path) -> Iterator[Publisher]:
    built = Publisher(server, tmp_path)
    yield built
    with built.process:  # closes its pipes
        built.process.kill()


def a_job(server: LocalGitHub, number: int) -> Job:
    """A red pull request of a repository of its own, and a person who asked for its repair."""
    name = f"r{number}"
    made = server.create_repository("octo", name, {"calculator.py": GREEN})
    head = server.push(f"octo/{name}", "feature/x", {"calculator.py": RED})
    pull = server.open_pull_request(f"octo/{name}", "feature/x").number
    comment = server.comment(f"octo/{name}", pull, "octo", "/metaagent fix")
    request = a_commanded_request(
        mission_id=f"mission:{made.id}:pr{pull}:c{comment.id}",
        repository=RepositoryRef(id=made.id, owner="octo", name=name),
        head_sha=head,
        pull_request=pull,
        comment=a_comment(id=comment.id, author="octo", number=pull),
        check=a_check(),
    )
    return Job(
        request=request,
        api_url=server.api_url,
        app_id=server.app_id,
        app_key=server.private_key_pem,
    )


def traces(server: LocalGitHub, job: Job) -> dict[str, int]:
    """How much of everything is there."""
    repository, head = job.request.repository, job.request.head_sha
    assert repository is not None
    name = repository.full_name
    heads = [one.pull.head_ref for one in server.pull_requests(name) if one.pull is not None]
    branches = list(server.store(name).refs("refs/heads/metaagent/"))
    return {
        "pull requests": sum(head.startswith("metaagent/") for head in heads),
        "branches": len(branches),
        "commits": len(server.store(name).history(f"{head}..{branches[0]}")) if branches else 0,
        "comments": sum(
            "metaagent" in one.user for one in server.comments(name, job.request.pull_request or 0)
        ),
        "checks": len(
            [run for run in server.world.check_runs.values() if run.repository == repository.id]
        ),
    }


ONCE = {"pull requests": 1, "branches": 1, "commits": 1, "comments": 1, "checks": 1}


def test_publishing_that_is_killed_again_and_again_leaves_everything_once(
    server: LocalGitHub, publisher: Publisher
) -> None:
    assert killed_at(server, publisher, missions=1) >= KILLS_EACH // 2, (
        "the later ones find most of it done"
    )


def killed_at(server: LocalGitHub, publisher: Publisher, missions: int) -> int:
    """Publishes for some missions, each killed at random requests before it comes to its end; how often."""
    whole = a_job(server, 0)
    before = len(server.requests)
    assert publisher.publish(whole) == 0
    asked = len(server.requests) - before
    assert traces(server, whole) == ONCE
    chance = random.Random(20)  # noqa: S311 -- which points, not which secrets
    killed: list[int] = []
    for number in range(1, missions + 1):
        job = a_job(server, number)
        points = sorted(chance.randint(2, asked) for _ in range(KILLS_EACH))
        deaths = [Death("*", "", 500, left=point, heard=chance.random() < 0.7) for point in points]
        killed += [publisher.publish(job, death) for death in deaths]
        assert publisher.publish(job) == 0
        assert traces(server, job) == ONCE, points
    return killed.count(signal.SIGKILL)
