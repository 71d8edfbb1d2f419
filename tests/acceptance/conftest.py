"""The stories' stage: a strict local GitHub and the real service beside it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.demo.bot_process import BotProcess
from tests.github_server.server import LocalGitHub, Options, strict_github


@pytest.fixture
def github(shared: Path) -> Iterator[LocalGitHub]:
    """A local GitHub that checks every exchange against GitHub's description."""
    with strict_github(Options(openapi_dir=shared / "github")) as running:
        yield running


@pytest.fixture
def bot(github: LocalGitHub, tmp_path: Path, docker_ready: None) -> Iterator[BotProcess]:
    """The service, in a process of its own."""
    with BotProcess(github, tmp_path / "bot") as process:
        yield process
