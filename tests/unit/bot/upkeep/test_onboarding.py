"""The onboarding pull request: once for a repository, with what its red checks would lead to."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from bot.domain.github import CheckRunState, CommitState, InstallationRef
from bot.domain.policy import RepositoryPolicy
from bot.domain.request import InstallationChange, RepositoryRef
from bot.errors import GitHubError, NotPermitted
from bot.policy.policy_file import POLICY_PATH, read_policy
from bot.publish.report import INTRODUCTION
from bot.queue.memory import MemoryCheckpoint
from bot.upkeep.onboarding import BRANCH, POLICY, onboard, onboard_repository
from tests.builders import HEAD, a_pull_request, a_repository
from tests.fakes.fake_github import FakeGitHub
from tests.fakes.memory_queue import MemoryQueue
from tests.services import services

pytestmark = pytest.mark.anyio
REPOSITORY = a_repository()
OTHER = "b" * 40


class Newcomer:
    """A repository without a policy, on which the App was just installed."""

    def __init__(self, *red: str) -> None:
        self.github, self.queue = FakeGitHub(), MemoryQueue()
        self.policy = RepositoryPolicy()
        self.github.permissions = {"octo": "write"}
        for branch, sha in (("main", HEAD), ("feature", OTHER)):
            self.github.branches[branch] = sha
            self.github.commits[sha] = CommitState(sha=sha, message="x", author="octo")
        self.github.pulls[5] = a_pull_request(
            number=5, head_sha=OTHER, head_ref="feature", author="octo"
        )
        self.github.other_checks = [
            CheckRunState(
                id=90 + number,
                name="tests @everyone\n```",
                head_sha=sha,
                conclusion="failure",
                app_slug="ci",
            )
            for number, sha in enumerate(red)
        ]

    async def onboard(self) -> int | None:
        async def read(_: RepositoryRef) -> RepositoryPolicy:
            return self.policy

        bag = services(self.github, queue=self.queue, read_policy=read)
        return await onboard_repository(REPOSITORY, bag)


async def test_without_a_red_check_it_proposes_a_policy_once() -> None:
    newcomer = Newcomer()
    number = await newcomer.onboard()
    assert number is not None
    pull = newcomer.github.pulls[number]
    assert (pull.head_ref, pull.base_ref) == (BRANCH, "main")
    assert INTRODUCTION in pull.body
    assert "No check is red now" in pull.body
    (edit,) = newcomer.github.edits[pull.head_sha]
    assert edit.path == POLICY_PATH
    assert newcomer.queue.requests == {}
    newcomer.github.pulls[number] = pull.with_(state="closed")
    assert await newcomer.onboard() is None


async def test_each_red_head_is_described_and_gets_a_staged_mission() -> None:
    newcomer = Newcomer(HEAD, OTHER)
    number = await newcomer.onboard()
    assert number is not None
    body = newcomer.github.pulls[number].body
    assert "2 staged missions" in body
    assert f"main at {HEAD[:12]}:" in body
    assert f"feature at {OTHER[:12]}:" in body
    assert f"admitted at {HEAD[:12]}" in body
    assert body.count("@everyone") == body.split("````")[1].count("@everyone")
    requests = newcomer.queue.requests.values()
    assert {one.head_sha for one in requests} == {HEAD, OTHER}
    assert all(one.staged and one.requested_by == "metaagent[bot]" for one in requests)
    # A staged mission must not stand in for the commit's own.
    assert all(one.mission_id.endswith(":auto:onboarding") for one in requests)
    assert newcomer.github.checks == []


async def test_a_lost_answer_loses_no_promised_mission() -> None:
    newcomer = Newcomer(HEAD)
    newcomer.github.after["open_pull_request"] = [GitHubError("time ran out", retryable=True)]
    with pytest.raises(GitHubError):
        await newcomer.onboard()
    await newcomer.onboard()
    assert len(newcomer.queue.requests) == 1


async def test_a_repository_that_refuses_holds_up_no_other() -> None:
    newcomer = Newcomer()
    there = [a_repository(id=number, name=f"r{number}") for number in (1, 2)]
    newcomer.github.installed_on[7] = tuple(there)
    newcomer.github.faults["commit_on_new_branch"] = [
        NotPermitted("Repository was archived so is read-only.", status=403)
    ]
    change = InstallationChange(installation_id=7, action="added", added=(1, 2))

    @asynccontextmanager
    async def rights(_: RepositoryRef) -> AsyncIterator[None]:
        yield

    bag = services(newcomer.github)
    await onboard(change, newcomer.github, bag, MemoryCheckpoint(), most=5, rights=rights)
    assert newcomer.github.calls.count("open_pull_request") == 1


async def test_a_repository_with_a_policy_needs_none() -> None:
    newcomer = Newcomer(HEAD)
    newcomer.policy = read_policy(b"automatic: true\n")
    assert await newcomer.onboard() is None
    assert newcomer.queue.requests == {}


def test_the_proposed_policy_is_valid_and_changes_nothing() -> None:
    policy = read_policy(POLICY.encode())
    assert policy.problems == ()
    assert policy.with_(origins={}) == RepositoryPolicy()


@pytest.mark.parametrize(("most", "expected"), [(0, 0), (1, 1), (5, 2)])
async def test_only_so_many_new_repositories_of_an_event_are_greeted(
    most: int, expected: int
) -> None:
    newcomer, held = Newcomer(), list[int]()
    newcomer.github.installed = [InstallationRef(id=7, account="octo")]
    there = [a_repository(id=number, name=f"r{number}") for number in (1, 2)]
    newcomer.github.installed_on[7] = tuple(there)

    @asynccontextmanager
    async def rights(repository: RepositoryRef) -> AsyncIterator[None]:
        held.append(repository.id)
        yield

    change = InstallationChange(installation_id=7, action="created", added=(1, 2, 3))
    bag = services(newcomer.github)
    await onboard(change, newcomer.github, bag, MemoryCheckpoint(), most=most, rights=rights)
    assert len(held) == expected
    removed = InstallationChange(installation_id=7, action="removed", removed=(1,))
    await onboard(removed, newcomer.github, bag, MemoryCheckpoint(), most=most, rights=rights)
    assert len(held) == expected
