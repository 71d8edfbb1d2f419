"""Commands on the (local) GitHub: real deliveries, the real gateway, every exchange checked against the description."""

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest
from pydantic import SecretStr

from bot.clock import SystemClock
from bot.conversation.handle import handle_command
from bot.conversation.result import Reply
from bot.domain.command import Command
from bot.domain.github import BranchCommit, CheckAction, CheckUpdate
from bot.domain.registry import FixState, OfferedFix
from bot.domain.request import RepositoryRef
from bot.github.events import read_delivery
from bot.github.gateway import GitHubGateway
from bot.intake.identity import OwnApp
from bot.intake.router import route
from bot.policy.policy_file import load_policy
from bot.ports import Services
from bot.queue.memory import MemoryCheckpoint
from bot.registry.stored import StoredRegistry
from sandbox.types import FileEdit
from tests.databases import a_database
from tests.fakes.memory_lessons import MemoryLessons
from tests.fakes.memory_queue import MemoryQueue
from tests.github_server.fixtures import app_key, local_github, receiver
from tests.github_server.receiver import WebhookReceiver
from tests.github_server.server import LocalGitHub

__all__ = ["app_key", "local_github", "receiver"]

pytestmark = [pytest.mark.anyio, pytest.mark.shared, pytest.mark.slow]
NAME = "octo/calculator"
RED, GREEN = "def add(a, b):\n    return a - b\n", "def add(a, b):\n    return a + b\n"


class Office:
    """A red pull request on the local GitHub, and the services that hear of it."""

    def __init__(self, server: LocalGitHub, receiver: WebhookReceiver, folder: Path) -> None:
        self.server, self.receiver = server, receiver
        made = server.create_repository(
            "octo", "calculator", {"calculator.py": "def add(a, b):\n    return 0\n"}
        )
        self.head = server.push(NAME, "feature", {"calculator.py": RED})
        self.pull = server.open_pull_request(NAME, "feature").number
        for login, level in (("writer", "write"), ("triager", "triage"), ("reader", "read")):
            server.set_permission(NAME, login, level)
        self.repository = RepositoryRef(id=made.id, owner="octo", name="calculator")
        self.gateway = GitHubGateway(
            str(server.app_id), SecretStr(server.private_key_pem), server.api_url, write_pause_s=0
        )
        self.own = OwnApp(app_id=server.app_id, slug=server.app_slug)
        self.queue, self.registry = MemoryQueue(), StoredRegistry(a_database(folder))
        self.services = Services(
            github=self.gateway,
            queue=self.queue,
            registry=self.registry,
            lessons=MemoryLessons(),
            clock=SystemClock(),
            read_policy=partial(load_policy, github=self.gateway),
            app_slug=server.app_slug,
        )
        server.webhook_url = receiver.url
        self.heard = 0

    async def next_reply(self) -> Reply:
        """Answer the next delivery that is a command; our own comments and labels are delivered too."""
        async with asyncio.timeout(120):
            while True:
                while len(self.receiver.received) <= self.heard:  # noqa: ASYNC110 -- another thread makes it true
                    await asyncio.sleep(0.02)
                one = self.receiver.received[self.heard]
                self.heard += 1
                command = route(
                    read_delivery(one.event, one.headers["x-github-delivery"], one.body), self.own
                )
                if isinstance(command, Command):
                    return await handle_command(
                        command, self.services, MemoryCheckpoint(through_json=True)
                    )

    async def say(self, login: str, words: str, number: int = 0) -> Reply:
        """Somebody comments in the pull request."""
        self.said = self.server.comment(NAME, number or self.pull, login, words)
        return await self.next_reply()

    def answers(self, number: int = 0) -> list[str]:
        """What we said there."""
        ours = self.server.comments(NAME, number or self.pull)
        return [one.body for one in ours if one.user == self.own.login]

    @property
    def writes(self) -> list[str]:
        """Requests that change something."""
        return [
            r
            for r in self.server.requests
            if not r.startswith("GET ") and "/access_tokens" not in r
        ]

    async def offered(self) -> OfferedFix:
        """A fix of ours, open as a pull request into the red branch."""
        branch = "metaagent/feature/01234567"
        edit = FileEdit(path="calculator.py", mode="100644", content=GREEN.encode())
        commit = BranchCommit(branch=branch, parent=self.head, message="Fix add\n")
        sha = await self.gateway.commit_on_new_branch(self.repository, commit, (edit,))
        pull = await self.gateway.open_pull_request(
            self.repository, head=branch, base="feature", title="Fix add", body="-", draft=False
        )
        fix = OfferedFix(
            repository=self.repository,
            fingerprint="f" * 32,
            base_branch="feature",
            head_sha=self.head,
            branch=branch,
            commit=sha,
            patch_id="patch-1",
            pull_request=pull.number,
            for_pull_request=self.pull,
            files={"calculator.py": "100644"},
            mission_id="mission:1",
            at="2026-01-02T03:04:05+00:00",
        )
        await self.registry.offer(fix)
        return fix

    async def state(self, fix: OfferedFix) -> FixState:
        """What the registry says of it now."""
        return next(
            row.state
            for row in await self.registry.offered(self.repository.id)
            if row.key == fix.key
        )


@pytest.fixture
async def office(
    local_github: LocalGitHub, receiver: WebhookReceiver, tmp_path: Path
) -> AsyncIterator[Office]:
    built = Office(local_github, receiver, tmp_path)
    yield built
    local_github.webhook_url = ""
    await built.gateway.aclose()


async def test_nothing_is_written_for_people_below_write_access(office: Office) -> None:
    for login in ("triager", "reader", "stranger"):
        reply = await office.say(login, "/metaagent fix")
        assert "write access is required" in reply.refused
    assert office.writes == []
    assert office.queue.requests == {}


async def test_a_command_is_answered_with_signs_and_one_reply(office: Office) -> None:
    await office.say("writer", "/metaagent fix")
    (request,) = office.queue.requests.values()
    assert (request.head_sha, request.pull_request) == (office.head, office.pull)
    assert [(r.user, r.content) for r in office.said.reactions] == [
        (office.own.login, "eyes"),
        (office.own.login, "rocket"),
    ]
    assert office.answers() == []
    await office.say("writer", "/metaagent config\r\nplease")
    await office.say("octo", "/metaagent dance")
    await office.say("octo", "/metaagent sing @everyone <b>")
    config, unknown = office.answers()
    assert "| `limits.attempts` | `3` | default |" in config
    assert "`sing` is not a known command" in unknown
    assert [r.content for r in office.said.reactions] == ["eyes", "confused"]


async def test_review_threads_buttons_and_labels_command_too(office: Office) -> None:
    thread = office.server.review_comment(
        NAME, office.pull, "writer", "why?", path="calculator.py", line=2
    )
    asked = office.server.review_comment(
        NAME, office.pull, "writer", "/metaagent status", reply_to=thread.id
    )
    reply = await office.next_reply()
    said = next(
        c for c in office.server.review_comments(NAME, office.pull) if c.id == reply.comment
    )
    assert said.reply_to == thread.id
    assert [r.content for r in asked.reactions] == ["eyes", "rocket"]
    off = CheckAction(label="Turn off here", description="No more missions here", identifier="off")
    update = CheckUpdate(
        status="completed", title="NO_FIX", summary="-", actions=(off,), external_id="mission:1"
    )
    await office.gateway.publish_check(office.repository, office.head, update)
    (check,) = office.server.check_runs(office.head, office.server.app_id)
    office.server.press_button(check, "off", "writer")
    assert (await office.next_reply()).ok
    assert await office.registry.off(office.repository.id, office.pull) is not None
    office.server.label(NAME, office.pull, "metaagent:fix", "writer")
    assert (await office.next_reply()).mission_id in office.queue.requests
    assert await office.gateway.labels(office.repository, office.pull) == ()


async def test_an_offered_fix_is_rejected(office: Office) -> None:
    fix = await office.offered()
    assert (await office.say("writer", "/metaagent reject", fix.pull_request or 0)).ok
    pull = await office.gateway.pull_request(office.repository, fix.pull_request or 0)
    assert pull is not None
    assert pull.state == "closed"
    assert await office.gateway.branch_head(office.repository, fix.branch) is None
    assert await office.state(fix) is FixState.CLOSED


async def test_a_merged_fix_is_taken_back(office: Office) -> None:
    fix = await office.offered()
    office.server.merge(NAME, fix.pull_request or 0, "writer")
    await office.registry.offer(fix.with_(state=FixState.MERGED))
    reply = await office.say("writer", "/metaagent undo")
    assert reply.ok, reply.text
    (undo,) = await office.gateway.pull_requests_from(
        office.repository, f"metaagent/undo/{fix.commit[:12]}"
    )
    assert undo.base_ref == "feature"
    assert office.server.files(NAME, undo.head_sha)["calculator.py"].decode() == RED
    assert await office.state(fix) is FixState.REVERTED
