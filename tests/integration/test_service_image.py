"""The service's images, built here: small, without rights, and one mission through Docker Compose."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.compose import SERVICE_USER, ComposeProject, bridge_address
from tests.demo.repositories import broken_repository
from tests.demo.story import problems_of, push_green, push_red, wait, wait_for_ci, watch
from tests.github_server.server import LocalGitHub, Options
from tests.postgres_image import postgres_image

pytestmark = [pytest.mark.docker, pytest.mark.slow]

ROOT = Path(__file__).resolve().parents[2]
MOST_BYTES = {"metaagent:web": 250e6, "metaagent:latest": 400e6}


@pytest.fixture
def short_folder() -> Iterator[Path]:
    """A folder for the service, and a short path: that of a socket has a limit."""
    with tempfile.TemporaryDirectory(prefix="compose-", dir="/tmp") as folder:
        yield Path(folder)


@pytest.fixture(scope="module")
def images(docker_ready: None) -> None:
    """Both images, built from this checkout."""
    script = ROOT / "scripts" / "build-service-image"
    place = Path(sys.executable).parents[1]
    done = subprocess.run([script, place], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.split() == list(MOST_BYTES)


@pytest.mark.parametrize("image", MOST_BYTES)
def test_an_image_is_small_and_its_user_is_not_root(images: None, image: str) -> None:
    done = subprocess.run(
        ["docker", "image", "inspect", image], check=True, capture_output=True, text=True
    )
    (found,) = json.loads(done.stdout)
    assert found["Config"]["User"] == f"{SERVICE_USER}:{SERVICE_USER}"
    if not any(one.startswith("PYTHON_VERSION=") for one in found["Config"]["Env"]):
        # From Debian packages; the size of another base is not ours.
        assert found["Size"] <= MOST_BYTES[image]


def test_a_mission_through_compose_survives_the_end_of_its_worker(
    images: None, short_folder: Path
) -> None:
    broken = broken_repository("broken_math")
    with (
        postgres_image() as database,
        LocalGitHub(Options(host=bridge_address(), tls=True)) as github,
        ComposeProject(github, short_folder, database) as project,
    ):
        name = push_green(github, broken)
        wait_for_ci(github, github.store(name).ref("refs/heads/main") or "")
        sha = push_red(github, broken)
        wait(lambda: bool(github.own_check_runs(sha)), 60, "the mission's check run")
        project.kill("worker")
        told = watch(github, broken, sha)
        assert problems_of(broken, told) == [], (told.own_check.summary, project.logs())
        assert len(github.pull_requests(name)) == 1
        wait(lambda: project.health("web") == "healthy", 60, "the image's health check")
        wait(lambda: project.restarts("worker") == 1, 60, "the worker's start")
