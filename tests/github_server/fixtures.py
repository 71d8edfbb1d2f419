"""Pytest fixtures: a local GitHub per test that fails the test on any violation of GitHub's description."""

from collections.abc import Generator
from pathlib import Path

import httpx
import pytest

from tests.github_server.keys import new_private_key
from tests.github_server.receiver import WebhookReceiver
from tests.github_server.server import LocalGitHub, Options, strict_github


@pytest.fixture(scope="session")
def app_key() -> str:
    """One App key for all tests: making one takes a while."""
    return new_private_key()


@pytest.fixture
def local_github(shared: Path, tmp_path: Path, app_key: str) -> Generator[LocalGitHub, None, None]:
    """A running local GitHub, every exchange checked."""
    options = Options(tmp_path / "github", openapi_dir=shared / "github", private_key_pem=app_key)
    with strict_github(options) as github:
        yield github


@pytest.fixture
def receiver() -> Generator[WebhookReceiver, None, None]:
    """A listening webhook receiver."""
    with WebhookReceiver() as found:
        yield found


@pytest.fixture
def rest(local_github: LocalGitHub) -> Generator[httpx.Client, None, None]:
    """An httpx client as the owner of the repository."""
    headers = {"authorization": f"token {local_github.user_token('octo')}"}
    with httpx.Client(base_url=local_github.api_url, headers=headers, trust_env=False) as client:
        yield client
