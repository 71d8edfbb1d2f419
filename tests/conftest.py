"""Fixtures every tier shares: where the data folder is, whether Docker answers."""

import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.missing import missing
from tests.postgres import Server, a_server
from tests.s3_server import S3Server, an_s3_server

ROOT = Path(__file__).resolve().parent.parent

# Continuous integration tries the same examples every time, so that a red run is about the change; people explore.
settings.register_profile("ci", derandomize=True, deadline=None)
settings.register_profile("explore", deadline=None)
# For `make check`; `make test` tries the usual hundred examples.
settings.register_profile("quick", max_examples=25, deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "explore")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Set-up sandboxes have no network of their own: our process connects for them, to the package index too."""
    for item in items:
        if item.get_closest_marker("docker"):
            item.add_marker(pytest.mark.enable_socket)


def pytest_collection_finish() -> None:
    """Thousands of tests stay until the end: looking through them for garbage was a quarter of all work."""
    gc.freeze()


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Everything asynchronous runs on asyncio."""
    return "asyncio"


@pytest.fixture(autouse=True)
def tracing_goes_on() -> Iterator[None]:
    """Python switches a tracer off that hits the recursion limit; coverage would be blind for all later tests."""
    before = sys.gettrace()
    yield
    if sys.gettrace() is not before:
        sys.settrace(before)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with recorded payloads, bug sets and hostile repositories, beside the checkout."""
    folder = Path(os.environ.get("METAAGENT_SHARED_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        missing(f"the data folder {folder} is not there")
    return folder


@pytest.fixture(scope="session")
def docker_ready() -> None:
    """A Docker daemon that answers."""
    import docker
    from docker.errors import DockerException

    try:
        client = docker.from_env(timeout=10)
        client.ping()
        client.close()
    except DockerException as error:
        missing(f"no Docker daemon answers ({type(error).__name__})")


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """A PostgreSQL server of our own."""
    with a_server() as server:
        yield server


@pytest.fixture(scope="session")
def s3() -> Iterator[S3Server]:
    """A server of our own that speaks S3."""
    with an_s3_server() as server:
        yield server
