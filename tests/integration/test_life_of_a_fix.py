"""The life of a fix on the (local) GitHub: offered, refreshed, replaced, merged, undone, refused, missed and found."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest
from pydantic import SecretStr

from bot.clock import SystemClock
from bot.domain.mission import Confidence, MissionContext, Outcome
from bot.domain.policy import DeliveryRule, RepositoryPolicy
from bot.domain.publication import Publication
from bot.domain.registry import FixState, OfferedFix
from bot.domain.request import CheckRef, Feedback, HeadMoved, RepositoryRef
from bot.github.events import read_delivery
from bot.github.gateway import GitHubGateway
from bot.intake.identity import OwnApp
from bot.intake.router import route
from bot.policy.policy_file import load_policy
from bot.ports import Services
from bot.publish.publisher import publish_outcome
from bot.publish.services import PublishServices
from bot.publish.story import build_story
from bot.registry.stored import StoredRegistry
from bot.upkeep.feedback import head_moved, take_feedback
from bot.upkeep.gone import close_gone
from bot.upkeep.sweep import Sweeper
from sandbox.diffs import Original, write_diff
from sandbox.types import FileEdit
from tests.builders import a_mission, a_request, a_verification, an_iteration
from tests.databases import a_database
from tests.fakes.memory_lessons import MemoryLessons
from tests.fakes.memory_queue import MemoryQueue
from tests.github_server.fixtures import app_key, local_github, receiver
from tests.github_server.receiver import WebhookReceiver
from tests.github_server.server import LocalGitHub

__all__ = ["app_key", "local_github", "receiver"]

pytestmark = [pytest.mark.anyio, pytest.mark.shared, pytest.mark.slow]
NAME, RED_BRANCH = "octo/calculator", "feature"
RED, GREEN, OTHER = (
    f"def add(a, b):\n    return {body}\n" for body in ("a - b", "a + b", "sum((a, b))")
)
NOBODY = "http://127.0.0.1:9/nobody"
"""Where nobody listens."""


class Life:
    """A red branch with a pull request on the local GitHub, and what looks after our fixes of it."""

    def __init__(self, server: LocalGitHub, receiver: WebhookReceiver, folder: Path) -> None:
        self.server, self.receiver = server, receiver
        made = server.create_repository(
            "octo", "calculator", {"calculator.py": "def add(a, b):\n    return 0\n"}
        )
        self.head = server.push(NAME, RED_BRANCH, {"calculator.py": RED})
        self.red_pull = server.open_pull_request(NAME, RED_BRANCH).number
        self.repository = RepositoryRef(id=made.id, owner="octo", name="calculator")
        self.gateway = GitHubGateway(
            str(server.app_id), SecretStr(server.private_key_pem), server.api_url, write_pause_s=0
        )
        self.own = OwnApp(app_id=server.app_id, slug=server.app_slug)
        self.registry, self.queue = StoredRegistry(a_database(folder)), MemoryQueue()
        self.services = Services(
            github=self.gateway,
            queue=self.queue,
            registry=self.registry,
            lessons=MemoryLessons(),
            clock=SystemClock(),
            app_slug=server.app_slug,
            read_policy=partial(load_policy, github=self.gateway),
        )
        server.webhook_url = receiver.url
        self.heard = 0

    async def publish(
        self, number: int = 1, *, fixed: str = GREEN, policy: RepositoryPolicy | None = None
    ) -> Publication:
        """A mission on the red branch's head ends with this content of the file."""
        context = self.mission(number, fixed).with_(policy=policy or RepositoryPolicy())
        services = PublishServices(self.gateway, self.own.slug, self.registry)
        return await publish_outcome(
            build_story(context, confidence=Confidence(value=0.9)), services
        )

    def mission(self, number: int, fixed: str) -> MissionContext:
        edit = FileEdit(path="calculator.py", mode="100644", content=fixed.encode())
        diff = write_diff(
            [edit],
            {
                "calculator.py": Original(
                    content=self.server.files(NAME, self.head)["calculator.py"]
                )
            },
        )
        request = a_request(
            mission_id=f"m-{number}",
            repository=self.repository,
            head_sha=self.head,
            head_branch=RED_BRANCH,
            pull_request=self.red_pull,
            check=CheckRef(id=1, name="CI / test"),
        )
        return a_mission(
            mission_id=request.mission_id,
            request=request,
            iterations=(an_iteration(verification=a_verification(diff=diff, edits=(edit,))),),
            created_at=datetime.now(UTC).isoformat(),
        )

    def push(self, files: dict[str, str]) -> None:
        """A person pushes to the red branch."""
        self.head = self.server.push(NAME, RED_BRANCH, files)

    async def follow(self) -> list[str]:
        """Take in all that GitHub tells; what became of fixes of ours."""
        fates: list[str] = []
        while await asyncio.to_thread(self.server.hub.webhooks.drain) and self.heard < len(
            self.receiver.received
        ):
            one = self.receiver.received[self.heard]
            self.heard += 1
            fates += await self.take(one.event, one.headers["x-github-delivery"], one.body)
        return fates

    async def take(self, event: str, guid: str, body: bytes) -> list[str]:
        """What the service does with a delivery, as far as it bears on our fixes."""
        work = route(read_delivery(event, guid, body), self.own)
        if isinstance(work, HeadMoved):
            await head_moved(work, self.services)
        if not isinstance(work, Feedback):
            return []
        await take_feedback(work, self.services)
        return [work.fate or ("merged" if work.merged else "closed")]

    async def fixes(self) -> list[OfferedFix]:
        """Everything offered, oldest first."""
        return list(reversed(await self.registry.offered(self.repository.id)))

    def open_ours(self) -> list[int]:
        pulls = self.server.pull_requests(NAME)
        return [one.number for one in pulls if one.state == "open" and one.user == self.own.login]

    def branches(self) -> list[str]:
        """Ours that are there."""
        return [
            name.removeprefix("refs/heads/")
            for name in self.server.store(NAME).refs("refs/heads/metaagent/")
        ]


@pytest.fixture
async def life(
    local_github: LocalGitHub, receiver: WebhookReceiver, tmp_path: Path
) -> AsyncIterator[Life]:
    built = Life(local_github, receiver, tmp_path)
    yield built
    local_github.webhook_url = ""
    await built.gateway.aclose()


async def test_a_fix_that_was_merged_and_undone_never_comes_back_by_itself(life: Life) -> None:
    offered = await life.publish(policy=RepositoryPolicy(labels=("bot",), reviewers=("octo",)))
    assert offered.pull_request is not None
    life.server.merge(NAME, offered.pull_request)
    assert "merged" in await life.follow()
    (fix,) = await life.fixes()
    assert (fix.state, life.branches()) == (FixState.MERGED, [])
    undo = f"revert-{fix.pull_request}-{fix.branch}"
    life.server.push(NAME, undo, {"calculator.py": RED}, start=RED_BRANCH)
    number = life.server.open_pull_request(NAME, undo, RED_BRANCH, "Revert the fix").number
    life.head = life.server.merge(NAME, number)
    assert "reverted" in await life.follow()
    (fix,) = await life.fixes()
    assert fix.state is FixState.REVERTED
    again = await life.publish(2)
    assert again.outcome is Outcome.DUPLICATE
    assert life.open_ours() == []


async def test_one_failure_on_three_commits_has_one_live_pull_request_and_our_own_closing_is_no_refusal(
    life: Life,
) -> None:
    first = await life.publish()
    life.push({"README.md": "# More\n"})
    same = await life.publish(2)
    assert same.pull_request == first.pull_request
    life.push({"README.md": "# Even more\n"})
    other = await life.publish(3, fixed=OTHER)
    assert life.open_ours() == [other.pull_request]
    await life.follow()
    assert [fix.state for fix in await life.fixes()] == [FixState.SUPERSEDED, FixState.OPEN]
    assert life.branches() == [other.branch]
    words = [one.body for one in life.server.comments(NAME, first.pull_request or 0)]
    assert any(f"/pull/{other.pull_request}" in body for body in words)


async def test_a_person_takes_a_fix_over_and_another_refuses_it(life: Life) -> None:
    first = await life.publish()
    assert first.branch is not None
    life.server.push(NAME, first.branch, {"calculator.py": OTHER}, author="ada")
    await life.follow()
    (fix,) = await life.fixes()
    assert fix.taken_over == "ada"
    life.push({"README.md": "# More\n"})
    assert (await life.publish(2)).outcome is Outcome.DUPLICATE
    assert life.open_ours() == [first.pull_request]
    life.server.delete_branch(NAME, first.branch, user="ada")
    assert "closed" in await life.follow()
    (fix,) = await life.fixes()
    assert fix.state is FixState.CLOSED
    assert (await life.publish(3)).outcome is Outcome.DUPLICATE


async def test_a_small_fix_is_suggested_in_the_red_pull_request_once(life: Life) -> None:
    wanted = RepositoryPolicy(deliver=(DeliveryRule(deliver="suggest"),))
    for _ in range(2):
        assert (await life.publish(policy=wanted)).way == "suggest"
    (review,) = life.server.reviews(NAME, life.red_pull)
    (comment,) = life.server.review_comments(NAME, life.red_pull)
    assert (comment.place.path, comment.place.line) == ("calculator.py", 2)
    assert "```suggestion\n    return a + b\n```" in comment.body
    assert "metaagent:mission=m-1" in review.body
    assert life.open_ours() == []


async def test_a_fix_that_may_be_pushed_is_one_verified_commit_on_the_red_branch(
    life: Life,
) -> None:
    wanted = RepositoryPolicy(
        deliver=(DeliveryRule(deliver="push", rungs=(1,), min_confidence=0.8),)
    )
    pushed = await life.publish(policy=wanted)
    again = await life.publish(policy=wanted)
    assert pushed.way == again.way == "push"
    assert pushed.commit == again.commit == life.server.store(NAME).ref(f"refs/heads/{RED_BRANCH}")
    assert life.server.files(NAME, RED_BRANCH)["calculator.py"].decode() == GREEN
    commit = await life.gateway.commit(life.repository, pushed.commit or "")
    assert commit.parents == (life.head,)
    life.server.set_rules(NAME, RED_BRANCH, "pull_request")
    life.push({"calculator.py": RED})
    assert (await life.publish(2, policy=wanted)).way == "pull-request"


async def test_what_was_missed_while_nobody_listened_is_found_once(life: Life) -> None:
    life.server.webhook_url = NOBODY
    offered = await life.publish()
    life.server.close(NAME, offered.pull_request or 0, user="ada")
    await asyncio.to_thread(life.server.hub.webhooks.drain)
    life.server.webhook_url = ""
    came = {"another, long ago"}
    fates: list[str] = []

    async def known(_: object) -> frozenset[str]:
        return frozenset(came)

    async def hand_in(guid: str, event: str, body: bytes) -> None:
        came.add(guid)
        fates.extend(await life.take(event, guid, body))

    sweeper = Sweeper(life.services, life.gateway, known, hand_in)
    since = datetime.now(UTC) - timedelta(minutes=30)
    assert (await sweeper.sweep(since)).deliveries > 0
    assert fates == ["closed"]
    assert (await life.fixes())[0].state is FixState.CLOSED
    assert (await sweeper.sweep(since)).deliveries == 0


async def test_a_red_pull_request_that_nobody_told_us_of_gets_its_mission(life: Life) -> None:
    life.server.webhook_url = ""
    life.server.third_party_check(NAME, life.head, "tests", "failure")

    async def known(_: object) -> frozenset[str]:
        return frozenset()

    async def hand_in(guid: str, event: str, body: bytes) -> None:
        raise AssertionError(guid, event, body)

    sweeper = Sweeper(life.services, life.gateway, known, hand_in)
    for found in (1, 0):
        assert (await sweeper.sweep(datetime.now(UTC) - timedelta(minutes=30))).heads == found
    (red,) = life.queue.red.values()
    assert (red.head_sha, red.pull_request) == (life.head, life.red_pull)


async def test_the_default_branch_gets_the_missions_that_its_policy_schedules(life: Life) -> None:
    life.server.webhook_url = ""
    policy = "continuous: {schedule: daily}\nimprove: {schedule: daily}\n"
    head = life.server.push(NAME, "main", {".github/metaagent.yml": policy})

    async def known(_: object) -> frozenset[str]:
        return frozenset()

    async def hand_in(guid: str, event: str, body: bytes) -> None:
        raise AssertionError(guid, event, body)

    sweeper = Sweeper(life.services, life.gateway, known, hand_in)
    for asked in (2, 0):
        assert (await sweeper.sweep(datetime.now(UTC) - timedelta(days=1))).scheduled == asked
    (red,) = (one for one in life.queue.red.values() if one.continuous)
    (request,) = life.queue.requests.values()
    assert (red.head_sha, red.head_branch) == (head, "main")
    assert (request.head_sha, request.improve) == (head, "")


async def test_a_failure_that_went_away_takes_its_fix_along(life: Life) -> None:
    offered = await life.publish()
    life.push({"calculator.py": OTHER})
    assert await close_gone(life.repository, life.services) == 0, "no check says anything yet"
    life.server.third_party_check(NAME, life.head, "CI / test", "success")
    assert await close_gone(life.repository, life.services) == 1
    assert life.open_ours() == []
    assert life.branches() == []
    await life.follow()
    (fix,) = await life.fixes()
    assert (fix.state, fix.pull_request) == (FixState.SUPERSEDED, offered.pull_request)
