"""`mode: staged`: the same words, and nothing written but our own check."""

from typing import Any

import pytest

from bot.domain.mission import Confidence, MissionContext, Outcome
from bot.domain.policy import RepositoryPolicy
from bot.domain.publication import Publication
from bot.domain.registry import FixState, OfferedFix
from bot.ports import Registry, RegistryReads
from bot.publish.dry_run import publish_staged, stage_registry
from bot.publish.services import PublishServices
from bot.publish.story import build_story
from tests.builders import HEAD, a_commanded_request, a_mission, a_pull_request
from tests.fakes.fake_github import FakeGitHub
from tests.fakes.memory_registry import MemoryRegistry
from tests.unit.bot.mission.world import ADDS, a_world
from tests.unit.bot.test_pipeline import Stage

pytestmark = pytest.mark.anyio


def github() -> FakeGitHub:
    fake = FakeGitHub()
    fake.branches["main"] = HEAD
    fake.branches["feature/x"] = HEAD
    return fake


async def staged(
    context: MissionContext, fake: FakeGitHub, registry: MemoryRegistry | None = None
) -> Publication:
    context = context.with_(
        policy=RepositoryPolicy(mode="staged", reviewers=("lisa",), labels=("bot",))
    )
    story = build_story(context, confidence=Confidence(value=0.9))
    return await publish_staged(
        story, PublishServices(fake, "metaagent", registry or MemoryRegistry())
    )


async def test_a_fix_is_shown_in_the_check_and_nowhere_else() -> None:
    fake = github()
    registry = MemoryRegistry()
    publication = await staged(a_mission(), fake, registry)
    assert fake.pulls == {}
    assert fake.edits == {}
    assert set(fake.branches) == {"main", "feature/x"}
    assert await registry.offered(1) == ()
    (check,) = fake.checks
    summary = check.updates[-1].summary
    assert "**Staged**" in summary
    assert "commit on the new branch metaagent/main/" in summary
    assert "open a pull request from metaagent/main/" in summary
    assert "Use `+` for `-` in `add` (calculator.py)" in summary
    assert publication.outcome is Outcome.FIXED
    assert publication.pull_request is None
    assert publication.branch is None
    assert publication.check_run == check.id
    assert "staged" in (publication.skipped or "")


async def test_a_reply_to_whoever_asked_is_noted_too() -> None:
    fake = github()
    fake.pulls[7] = a_pull_request()
    context = a_mission()
    await staged(context.with_(request=a_commanded_request()), fake)
    assert fake.comments == []
    assert "comment on #" in fake.checks[0].updates[-1].summary


async def test_running_it_twice_leaves_the_same_check() -> None:
    fake = github()
    await staged(a_mission(), fake)
    await staged(a_mission(), fake)
    (check,) = fake.checks
    assert check.updates[0] == check.updates[-1]


async def test_what_is_known_of_earlier_fixes_counts_and_nothing_is_added() -> None:
    registry = MemoryRegistry()
    repository = a_commanded_request().repository
    assert repository is not None
    fix = OfferedFix(
        repository=repository,
        fingerprint="f",
        base_branch="main",
        head_sha=HEAD,
        branch="metaagent/main/1",
        commit=HEAD,
        patch_id="p",
        mission_id="m",
        state=FixState.CLOSED,
    )
    await registry.offer(fix)
    view = stage_registry(registry)
    assert await view.is_blocked(repository.id, "p") == fix
    await view.offer(fix.with_(branch="metaagent/main/2"))
    assert await view.revise(fix.key, lambda known: known.with_(state=FixState.OPEN)) is None
    assert await registry.offered(repository.id) == (fix,)


@pytest.mark.parametrize("name", sorted(set(dir(Registry)) - set(dir(RegistryReads))))
def test_no_write_of_the_registry_reaches_the_real_one(name: str) -> None:
    view: Any = stage_registry(None)  # type: ignore[arg-type]
    assert callable(getattr(view, name))
    with pytest.raises(AttributeError, match="missing"):
        view.missing  # noqa: B018


async def test_a_staged_repository_has_whole_missions_and_no_traces_but_the_check() -> None:
    stage = Stage(a_world(ADDS))
    stage.github.files["main", ".github/metaagent.yml"] = b"mode: staged\n"
    context = await stage.play()
    assert context.outcome is Outcome.FIXED
    assert stage.github.pulls == {}
    assert set(stage.github.branches) == {"main"}
    assert stage.github.comments == []
    (check,) = stage.github.checks
    assert "open a pull request" in check.updates[-1].summary
    (lesson,) = stage.lessons.lessons.values()
    assert (lesson.outcome, lesson.pull_request) == ("FIXED", None)
