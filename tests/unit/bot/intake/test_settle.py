"""A red head settles into one mission."""

from typing import Any

import pytest
from typing_extensions import override

from bot.domain.github import CheckRunState, StatusState, WorkflowRunState
from bot.domain.registry import LiveMission
from bot.domain.request import CheckRef, Depth, RedHead
from bot.errors import GitHubError, NotPermitted
from bot.intake.settle import PAUSES_S, settle
from bot.queue.memory import MemoryCheckpoint
from tests.builders import a_commanded_request, a_repository, a_request
from tests.fakes.fake_github import FakeGitHub
from tests.fakes.memory_queue import MemoryQueue
from tests.fakes.memory_registry import MemoryRegistry
from tests.services import services

pytestmark = pytest.mark.anyio
HEAD, OLD = "a" * 40, "b" * 40
ACTIONS = "github-actions"


class Patience(MemoryCheckpoint):
    """Time passes at once; something may happen meanwhile."""

    def __init__(self, github: FakeGitHub, *later: list[CheckRunState]) -> None:
        super().__init__(through_json=True)
        self.waited: list[float] = []
        self._github = github
        self._later = list(later)

    @override
    async def pause(self, seconds: float) -> None:
        self.waited.append(seconds)
        if self._later:
            self._github.other_checks = self._later.pop(0)


def red(**changes: Any) -> RedHead:
    return RedHead(
        repository=a_repository(),
        head_sha=HEAD,
        head_branch="feature",
        check=CheckRef(id=99, name="tests", app_slug=ACTIONS, details_url="https://github.com/x"),
        delivery_id="d-1",
    ).with_(**changes)


def check(
    number: int, name: str = "tests", conclusion: str | None = "failure", app: str = ACTIONS
) -> CheckRunState:
    status = "completed" if conclusion else "in_progress"
    return CheckRunState(
        id=number, name=name, head_sha=HEAD, conclusion=conclusion, status=status, app_slug=app
    )


@pytest.fixture
def github() -> FakeGitHub:
    return FakeGitHub()


async def test_a_head_whose_checks_are_complete_waits_for_nothing(github: FakeGitHub) -> None:
    github.other_checks = [check(99), check(100, "lint", "success")]
    checkpoint = Patience(github)
    request = await settle(red(), services(github), checkpoint)
    assert request is not None
    assert checkpoint.waited == []
    assert (request.mission_id, request.head_branch) == (f"mission:42:{HEAD}:auto", "feature")
    assert request.check == red().check
    assert request.also_red == ()
    assert request.requested_by is None


async def test_twelve_jobs_of_a_matrix_become_one_mission_that_names_them_all(
    github: FakeGitHub,
) -> None:
    half = [check(100 + n, f"test ({n})", "failure" if n < 3 else None) for n in range(12)]
    done = [check(100 + n, f"test ({n})") for n in range(12)]
    github.other_checks = half
    checkpoint = Patience(github, half, done)
    request = await settle(red(), services(github), checkpoint)
    assert checkpoint.waited == [3.0, 5.0]
    assert request is not None
    assert request.check is not None
    assert request.check.name == "test (0)"
    assert [other.name for other in request.also_red] == [f"test ({n})" for n in range(1, 12)]


async def test_our_own_check_and_those_that_are_no_tests_are_not_waited_for(
    github: FakeGitHub,
) -> None:
    github.other_checks = [
        check(99),
        check(1, "MetaAgent", None, "metaagent"),
        check(2, "preview", None, "vercel"),
    ]
    github.other_checks += [
        check(3, "MetaAgent", "failure", "metaagent"),
        check(4, "cover", "failure", "codecov"),
    ]
    checkpoint = Patience(github)
    request = await settle(red(), services(github), checkpoint)
    assert checkpoint.waited == []
    assert request is not None
    assert request.also_red == ()


async def test_a_check_that_never_ends_is_waited_for_so_long_and_no_longer(
    github: FakeGitHub,
) -> None:
    github.other_checks = [check(99), check(5, "slow", None, "other-ci")]
    checkpoint = Patience(github)
    assert await settle(red(), services(github), checkpoint, 60) is not None
    assert checkpoint.waited[:4] == list(PAUSES_S)
    assert sum(checkpoint.waited) == 60
    none = Patience(github)
    assert await settle(red(), services(github), none, 0) is not None
    assert none.waited == []


async def test_a_job_comes_before_another_ci_and_tests_before_style(github: FakeGitHub) -> None:
    github.other_checks = [
        check(1, "ci/other", app="circleci"),
        check(2, "lint"),
        check(3, "tests"),
    ]
    request = await settle(red(check=None), services(github), Patience(github))
    assert request is not None
    assert request.check is not None
    assert (request.check.id, [c.id for c in request.also_red]) == (3, [2, 1])


async def test_what_turned_green_meanwhile_needs_no_mission(github: FakeGitHub) -> None:
    github.other_checks = [check(99), check(100, "rerun", None)]
    later = [check(99, conclusion="success"), check(100, "rerun", "success")]
    assert await settle(red(), services(github), Patience(github, later)) is None


async def test_what_github_shows_later_than_it_tells_is_waited_for_once(github: FakeGitHub) -> None:
    checkpoint = Patience(github, [check(99)])
    assert await settle(red(), services(github), checkpoint) is not None
    assert checkpoint.waited == [3.0]
    green = Patience(github, [check(99, conclusion="success")])
    github.other_checks = []
    assert await settle(red(), services(github), green) is None
    assert green.waited == [3.0]


async def test_a_head_with_red_statuses_only_becomes_a_mission_too(github: FakeGitHub) -> None:
    github.statuses[HEAD] = tuple(
        StatusState(context=context, state="failure") for context in ("ci/jenkins", "codecov/patch")
    )
    request = await settle(red(check=None), services(github), Patience(github))
    assert request is not None
    assert request.check == CheckRef(id=0, name="ci/jenkins", app_slug="")
    assert request.check.is_status
    assert request.also_red == ()


async def test_a_status_that_is_to_come_is_waited_for(github: FakeGitHub) -> None:
    done, coming = (
        StatusState(context="ci/jenkins", state="failure"),
        StatusState(context="ci/slow", state="pending"),
    )
    github.statuses[HEAD] = (done, coming, StatusState(context="codecov/patch", state="pending"))
    checkpoint = Patience(github)
    assert await settle(red(check=None), services(github), checkpoint, 8.0) is not None
    assert checkpoint.waited == [3.0, 5.0]
    github.statuses[HEAD] = (done, coming.with_(state="success"))
    at_once = Patience(github)
    assert await settle(red(check=None), services(github), at_once) is not None
    assert at_once.waited == []


async def test_a_job_that_ran_on_a_fork_s_head_starts_nothing(github: FakeGitHub) -> None:
    github.other_checks = [check(99)]
    github.runs[77] = WorkflowRunState(id=77, head_sha=HEAD, from_fork=True)
    assert await settle(red(workflow_run=77), services(github), Patience(github)) is None
    github.runs[77] = WorkflowRunState(id=77, head_sha=HEAD)
    assert await settle(red(workflow_run=77), services(github), Patience(github)) is not None


async def test_where_the_checks_may_not_be_read_the_event_s_word_counts(github: FakeGitHub) -> None:
    github.faults["check_runs"] = [NotPermitted("no", "grant checks: read", status=403)]
    request = await settle(red(), services(github), Patience(github))
    assert request is not None
    assert request.check == red().check


async def test_trouble_that_passes_is_left_to_the_checkpoint(github: FakeGitHub) -> None:
    github.faults["check_runs"] = [GitHubError("502", status=502, retryable=True)]
    with pytest.raises(GitHubError):
        await settle(red(), services(github), Patience(github))


@pytest.mark.parametrize(
    ("other", "state", "doubled"),
    [
        ({}, "waiting", False),
        ({}, "running", False),
        ({}, "done", True),
        ({"depth": Depth.EXPLAIN}, "running", True),
        ({"head_sha": OLD}, "running", True),
        ({"mission_id": f"mission:42:{HEAD}:auto"}, "running", True),
    ],
)
async def test_a_commit_that_somebody_asked_to_repair_meanwhile_is_not_repaired_twice(
    github: FakeGitHub, other: dict[str, Any], state: str, *, doubled: bool
) -> None:
    queue, asked = MemoryQueue(), a_commanded_request(head_sha=HEAD).with_(**other)
    github.other_checks = [check(99)]
    await queue.submit(asked)
    queue.states[asked.mission_id] = state
    assert (
        await settle(red(), services(github, queue=queue), Patience(github)) is not None
    ) is doubled


@pytest.mark.parametrize(
    ("state", "inherits"), [("cancelled", True), ("done", False), ("running", False)]
)
async def test_the_mission_that_a_push_ended_is_named_by_the_next(
    github: FakeGitHub, state: str, *, inherits: bool
) -> None:
    registry, queue = MemoryRegistry(), MemoryQueue()
    github.other_checks = [check(99)]
    await registry.begin(
        LiveMission(mission_id="old", repository=a_repository(), head_sha=OLD, branch="feature")
    )
    await registry.end("old")
    await queue.submit(a_request(mission_id="old", head_sha=OLD))
    queue.states["old"] = state
    request = await settle(
        red(), services(github, registry=registry, queue=queue), Patience(github)
    )
    assert request is not None
    assert request.supersedes == ("old" if inherits else None)


async def test_a_continuous_head_without_any_check_is_tested_after_the_whole_time(
    github: FakeGitHub,
) -> None:
    checkpoint = Patience(github)
    request = await settle(red(check=None, continuous=True), services(github), checkpoint, 30.0)
    assert request is not None
    assert sum(checkpoint.waited) == 30.0
    assert (request.mission_id, request.continuous) == (f"mission:42:{HEAD}:auto:unchecked", True)


async def test_a_continuous_head_whose_checks_are_green_needs_no_mission(
    github: FakeGitHub,
) -> None:
    checkpoint = Patience(github, [check(99, conclusion="success")])
    head = red(check=None, continuous=True)
    assert await settle(head, services(github), checkpoint, 30.0) is None
    assert len(checkpoint.waited) <= 2


async def test_a_continuous_head_that_is_red_is_repaired_as_any_other(github: FakeGitHub) -> None:
    checkpoint = Patience(github, [check(99)])
    request = await settle(red(check=None, continuous=True), services(github), checkpoint, 30.0)
    assert request is not None
    assert request.mission_id == f"mission:42:{HEAD}:auto"
    assert request.check is not None


async def test_an_improvement_of_the_same_commit_does_not_hold_up_its_repair(
    github: FakeGitHub,
) -> None:
    queue = MemoryQueue()
    await queue.submit(
        a_request(mission_id="mission:42:improve:c1", head_sha=HEAD).with_(improve="")
    )
    github.other_checks = [check(99)]
    assert await settle(red(), services(github, queue=queue), Patience(github)) is not None
