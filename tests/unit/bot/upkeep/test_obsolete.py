"""Work that nobody needs any more is ended, and people are told."""

from dataclasses import dataclass, field
from typing import Any

import pytest
from typing_extensions import override

from bot.domain.policy import RepositoryPolicy
from bot.domain.registry import InstallationState, LiveMission
from bot.domain.request import GivenUp, HeadMoved, InstallationChange, MissionRequest
from bot.queue.memory import MemoryCheckpoint
from bot.registry import under_way
from bot.upkeep.obsolete import end_obsolete, report_given_up
from sandbox.types import TrustTier
from tests.builders import a_commanded_request, a_lesson, a_pull_request, a_repository, a_request
from tests.fakes.fake_github import FakeGitHub
from tests.fakes.fixed_clock import FixedClock
from tests.fakes.memory_lessons import MemoryLessons
from tests.fakes.memory_queue import MemoryQueue
from tests.fakes.memory_registry import MemoryRegistry
from tests.services import services

pytestmark = pytest.mark.anyio
OLD, NEW, NEWER = "a" * 40, "b" * 40, "c" * 40


class Patience(MemoryCheckpoint):
    """Time passes at once."""

    def __init__(self) -> None:
        super().__init__(through_json=True)
        self.waited: list[float] = []

    @override
    async def pause(self, seconds: float) -> None:
        self.waited.append(seconds)


@dataclass
class Scene:
    """A queue with missions, and a GitHub on which the branch has moved."""

    github: FakeGitHub = field(default_factory=FakeGitHub)
    queue: MemoryQueue = field(default_factory=MemoryQueue)
    registry: MemoryRegistry = field(default_factory=MemoryRegistry)
    clock: FixedClock = field(default_factory=FixedClock)
    checkpoint: Patience = field(default_factory=Patience)
    policy: RepositoryPolicy = field(default_factory=RepositoryPolicy)
    lessons: MemoryLessons = field(default_factory=MemoryLessons)

    async def wait(self, request: MissionRequest, state: str = "waiting") -> None:
        await self.queue.submit(request)
        self.queue.states[request.mission_id] = state

    async def happens(self, change: HeadMoved | InstallationChange) -> None:
        bag = services(
            self.github,
            policy=self.policy,
            queue=self.queue,
            registry=self.registry,
            lessons=self.lessons,
            clock=self.clock,
            wind_down_s=3.0,
        )
        await end_obsolete(change, bag, self.checkpoint)

    def told(self) -> list[str]:
        return [check.updates[-1].title for check in self.github.checks]


@pytest.fixture
def scene() -> Scene:
    built = Scene()
    built.github.branches["feature"] = NEW
    return built


def automatic(**changes: Any) -> MissionRequest:
    return a_request(mission_id="m", head_sha=OLD, head_branch="feature").with_(**changes)


def moved(**changes: Any) -> HeadMoved:
    base = HeadMoved(
        repository=a_repository(), branch="feature", before=OLD, after=NEW, pusher="maintainer"
    )
    return base.with_(**changes)


async def test_a_push_ends_the_mission_on_the_older_head_and_tells_it(scene: Scene) -> None:
    await scene.wait(automatic())
    await scene.happens(moved())
    assert scene.queue.states["m"] == "cancelled"
    assert [check.sha for check in scene.github.checks] == [OLD]
    assert "STALE" in scene.told()[0]
    assert scene.github.checks[0].updates[-1].status == "completed"
    assert scene.checkpoint.waited == []


async def test_a_mission_that_runs_has_time_to_fall_silent_before_the_last_word(
    scene: Scene,
) -> None:
    await scene.wait(automatic(), "running")
    await scene.happens(moved())
    assert scene.checkpoint.waited == [3.0]
    assert len(scene.told()) == 1


@pytest.mark.parametrize(("mode", "comments"), [("active", 1), ("staged", 0)])
async def test_whoever_asked_is_told_unless_nothing_may_be_written(
    scene: Scene, mode: str, comments: int
) -> None:
    scene.policy = RepositoryPolicy.model_validate({"mode": mode})
    await scene.wait(a_commanded_request(mission_id="m", head_sha=OLD, head_branch="feature"))
    await scene.happens(moved())
    assert "STALE" in scene.told()[0]
    assert len(scene.github.comments) == comments


async def test_a_deleted_branch_ends_its_mission(scene: Scene) -> None:
    del scene.github.branches["feature"]
    await scene.wait(automatic())
    await scene.happens(moved(after=None))
    assert scene.queue.states["m"] == "cancelled"
    assert "STALE" in scene.told()[0]


@pytest.mark.parametrize(
    "request_",
    [
        automatic(head_branch="other"),
        automatic(head_sha=NEW),
        automatic(head_sha=NEWER),
        automatic(repository=a_repository(id=43)),
        automatic(tier=TrustTier.FORK),
        automatic(head_sha=None),
    ],
    ids=[
        "another branch",
        "the new head",
        "an even newer head",
        "another repository",
        "a fork's",
        "takes what it finds",
    ],
)
async def test_a_push_ends_nothing_else(scene: Scene, request_: MissionRequest) -> None:
    scene.github.branches |= {"feature": request_.head_sha or NEW, "other": OLD}
    await scene.wait(request_)
    await scene.happens(moved())
    assert scene.queue.states["m"] == "waiting"
    assert scene.told() == []


async def test_an_event_that_comes_late_does_not_end_what_began_after_it(scene: Scene) -> None:
    scene.github.branches["feature"] = NEWER
    await scene.wait(automatic(head_sha=NEWER))
    await scene.happens(moved())
    assert scene.queue.states["m"] == "waiting"


async def test_a_branch_of_a_fork_that_is_called_like_one_of_ours_ends_nothing_of_ours(
    scene: Scene,
) -> None:
    await scene.wait(automatic())
    await scene.happens(moved(from_fork=True, pull_request=9))
    assert scene.queue.states["m"] == "waiting"


async def test_a_fork_s_pull_request_that_moved_ends_its_mission(scene: Scene) -> None:
    scene.github.pulls[9] = a_pull_request(number=9, head_sha=NEW, from_fork=True)
    await scene.wait(automatic(pull_request=9, tier=TrustTier.FORK))
    await scene.happens(moved(from_fork=True, pull_request=9))
    assert scene.queue.states["m"] == "cancelled"


async def test_a_closed_pull_request_ends_its_missions_and_answers_who_asked(scene: Scene) -> None:
    await scene.wait(automatic(pull_request=5))
    await scene.wait(a_commanded_request(mission_id="asked", head_sha=None, head_branch=None))
    await scene.happens(moved(closed=True, pull_request=5, before=OLD, after=OLD))
    assert scene.queue.states == {"m": "cancelled", "asked": "cancelled"}
    assert "CANCELLED" in scene.told()[0]
    assert [comment.number for comment in scene.github.comments] == [5]


async def test_a_pull_request_that_is_open_again_when_we_hear_of_its_end_keeps_its_mission(
    scene: Scene,
) -> None:
    scene.github.pulls[5] = a_pull_request(number=5, head_sha=OLD)
    await scene.wait(automatic(pull_request=5))
    await scene.happens(moved(closed=True, pull_request=5, before=OLD, after=OLD))
    assert (scene.queue.states, scene.told()) == ({"m": "waiting"}, [])


async def test_a_mission_that_came_to_its_own_end_meanwhile_has_the_last_word(scene: Scene) -> None:
    class Quick(MemoryQueue):
        """Its missions end as soon as they were seen."""

        @override
        async def under_way(self, repository_id: int | None = None) -> tuple[MissionRequest, ...]:
            found = await super().under_way(repository_id)
            self.states |= dict.fromkeys(self.states, "done")
            return found

    scene.queue = Quick()
    await scene.wait(automatic(), "running")
    await scene.happens(moved())
    assert (scene.queue.states, scene.told()) == ({"m": "done"}, [])


@pytest.mark.parametrize(
    ("request_", "branch"),
    [(automatic(pull_request=8), "feature"), (automatic(head_branch="main"), "main")],
    ids=["another pull request", "the default branch"],
)
async def test_a_closed_pull_request_leaves_other_work_on_its_branch_alone(
    scene: Scene, request_: MissionRequest, branch: str
) -> None:
    await scene.wait(request_)
    await scene.happens(moved(closed=True, pull_request=5, branch=branch))
    assert scene.queue.states["m"] == "waiting"


@pytest.mark.parametrize(
    ("changes", "attempts"),
    [
        ({}, 0),
        ({"pusher": "renovate[bot]"}, 1),
        ({"pusher": ""}, 1),
        ({"from_fork": True}, 1),
        ({"closed": True}, 1),
    ],
)
async def test_a_person_s_push_forgives_our_attempts(
    scene: Scene, changes: dict[str, Any], attempts: int
) -> None:
    await scene.registry.begin(
        LiveMission(mission_id="x", repository=a_repository(), head_sha=OLD, branch="feature")
    )
    await scene.happens(moved(**changes))
    assert await scene.registry.attempts(42, branch="feature") == attempts


def change(action: str, **more: Any) -> InstallationChange:
    return InstallationChange(installation_id=7, account="octo", action=action).with_(**more)


@pytest.mark.parametrize("action", ["suspend", "deleted"])
async def test_without_the_installation_everything_there_stops_and_nothing_is_told(
    scene: Scene, action: str
) -> None:
    await scene.wait(automatic())
    await scene.wait(
        automatic(mission_id="else", repository=a_repository(id=43, installation_id=8))
    )
    await scene.happens(change(action))
    assert scene.queue.states == {"m": "cancelled", "else": "waiting"}
    assert scene.told() == []
    assert await under_way.is_stopped(a_repository(), scene.registry)
    assert not await under_way.is_stopped(a_repository(installation_id=8), scene.registry)


async def test_a_repository_that_is_taken_away_stops_alone(scene: Scene) -> None:
    await scene.wait(automatic())
    await scene.wait(automatic(mission_id="kept", repository=a_repository(id=43)))
    await scene.happens(change("removed", removed=(42,)))
    assert scene.queue.states == {"m": "cancelled", "kept": "waiting"}
    assert not await under_way.is_stopped(a_repository(), scene.registry)


@pytest.mark.parametrize(
    ("actions", "stopped"),
    [
        (["suspend", "unsuspend"], False),
        (["deleted", "created"], False),
        (["suspend", "new_permissions_accepted"], True),
        (["suspend", "added"], True),
        (["created"], False),
    ],
)
async def test_an_installation_may_come_back(
    scene: Scene, actions: list[str], *, stopped: bool
) -> None:
    for action in actions:
        scene.checkpoint = Patience()
        await scene.happens(change(action))
    assert await under_way.is_stopped(a_repository(), scene.registry) is stopped


async def test_what_says_nothing_new_undoes_no_suspension_of_the_same_moment(scene: Scene) -> None:
    class Meanwhile(MemoryRegistry):
        @override
        async def installation(self, installation_id: int) -> InstallationState | None:
            seen = await super().installation(installation_id)
            if seen is not None:
                await self.note_installation(seen.with_(suspended=True))
            return seen

    registry = Meanwhile()
    for action in ("created", "added"):
        await under_way.note(change(action), registry, scene.clock)
    assert await under_way.is_stopped(a_repository(), registry)


async def test_a_mission_that_is_given_up_is_told_where_people_wait_for_it(scene: Scene) -> None:
    bag = services(scene.github)
    await report_given_up(GivenUp(request=automatic(), deaths=6), bag, scene.checkpoint)
    (check,) = scene.github.checks
    assert check.updates[-1].status == "completed"
    assert "crashed 6 times" in (check.updates[-1].summary + (check.updates[-1].text or ""))


@pytest.mark.parametrize("action", ["deleted", "removed"])
async def test_lessons_of_a_removed_repository_are_forgotten(scene: Scene, action: str) -> None:
    scene.lessons = MemoryLessons(
        a_lesson(id="gone", repository_id="42"),
        a_lesson(id="of forks", repository_id="42:fork"),
        a_lesson(id="kept", repository_id="43"),
    )
    await scene.happens(InstallationChange(installation_id=7, action=action, removed=(42,)))
    assert list(scene.lessons.lessons) == ["kept"]


async def test_a_suspended_installation_keeps_its_lessons(scene: Scene) -> None:
    scene.lessons = MemoryLessons(a_lesson())
    await scene.happens(InstallationChange(installation_id=7, action="suspend"))
    assert list(scene.lessons.lessons) == ["m-0001"]
