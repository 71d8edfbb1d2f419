"""Pytest fixtures: a local GitHub per test that fails the test on any violation of GitHub's description."""

from collections.abc import Generator
from pathlib import Path

import pytest

from tests.github_server.server import LocalGitHub, Options, strict_github


@pytest.fixture(scope="session")
def app_key() -> str:
    """One App key for all tests: making one takes a while."""
    from tests.github_server.server import new_private_key

    return new_private_key()


@pytest.fixture
def local_github(shared: Path, tmp_path: Path, app_key: str) -> Generator[LocalGitHub, None, None]:
    """A running local GitHub, every exchange checked."""
    options = Options(tmp_path / "github", openapi_dir=shared / "github", private_key_pem=app_key)
    with strict_github(options) as github:
        yield github
