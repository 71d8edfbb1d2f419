"""One world for each way a mission may end, through the real line in real sandboxes; the benchmark plays all of them."""

from collections.abc import Iterator

import pytest

from bot.domain.mission import Outcome
from sandbox.backends.docker_container import DockerBackend
from sandbox.workspace import Sandboxes
from tests.integration.git_http import serve_git
from tests.triage_worlds.play import Playground, a_spec, all_worlds

WORLDS = {world.name: world for world in all_worlds()}
PLAYED = (
    "bug_partly",
    "bug_too_hard",
    "bug_no_time",
    "order_other_file",
    "flake_hash_ant",
    "base_red_refactored",
    "outage_runner_lost",
    "outage_said_dns",
    "needs_network",
    "missing_plugin_fixture",
    "green_named",
    "merge_only",
)


@pytest.fixture(scope="module")
def ground(docker_ready: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Playground]:
    folder = tmp_path_factory.mktemp("worlds")
    spec = a_spec(pool=0)
    with serve_git(folder) as server:
        yield Playground(
            server, Sandboxes(spec, DockerBackend(spec), tmp_path_factory.mktemp("data"))
        )


@pytest.mark.anyio
@pytest.mark.docker
@pytest.mark.slow
@pytest.mark.parametrize("name", PLAYED)
async def test_a_world_ends_as_it_must_and_says_why(ground: Playground, name: str) -> None:
    played = await ground.play(WORLDS[name])
    assert played.right, f"{played.outcome}: {played.context.reason}\n{played.told}\n{played.red}"
    assert WORLDS[name].says in played.told
    if played.outcome in {Outcome.FLAKY, Outcome.BASE_RED}:
        assert not played.got_a_fix


def test_there_are_at_least_sixty_worlds_of_every_kind() -> None:
    assert len(WORLDS) >= 60
    assert {world.called for world in WORLDS.values()} >= {
        "BUG",
        "BASE_RED",
        "ENV_UNBUILDABLE",
        "FLAKY",
        "INFRA",
        "NEEDS_HUMAN",
        "NOT_REPRODUCED",
    }
    rates = {world.rate for world in WORLDS.values()}
    assert rates >= {0.1, 0.3, 0.5}
