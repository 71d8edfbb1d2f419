"""The stories' stage: a strict local GitHub and the real service beside it."""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.demo.bot_process import BotProcess
from tests.github_server.server import LocalGitHub, Options, strict_github
from tests.patience import stretched
from tests.postgres import Server


@pytest.fixture
def github(shared: Path) -> Iterator[LocalGitHub]:
    """A local GitHub that checks every exchange against GitHub's description."""
    with strict_github(Options(openapi_dir=shared / "github")) as running:
        yield running


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest) -> Mapping[str, str]:
    """What the service is told of its database: nothing, or a server."""
    if request.param == "sqlite":
        return {}
    server: Server = request.getfixturevalue("postgres")
    # A service that was killed is missed after this time only.
    return {"METAAGENT_DATABASE_URL": server.new_database(), "METAAGENT_WORKER_TTL_S": "5"}


@pytest.fixture
def bot(
    github: LocalGitHub, database: Mapping[str, str], tmp_path: Path, docker_ready: None
) -> Iterator[BotProcess]:
    """The service, in a process of its own."""
    # On a busy machine a search takes longer; how long it may take is not what the stories are about.
    patient = {"METAAGENT_LIMITS__TIME_LIMIT": str(stretched(90.0))}
    with BotProcess(github, tmp_path / "bot", {**database, **patient}) as process:
        yield process
        told(github, process)


def told(github: LocalGitHub, bot: BotProcess) -> None:
    """What was to be seen, for whoever reads why a story ended otherwise."""
    spoken = [f"{comment.user}: {comment.body}\n" for comment in github.world.comments.values()]
    sys.stdout.writelines(spoken)
    sys.stdout.write(bot.log.read_text(errors="replace")[-20_000:])
