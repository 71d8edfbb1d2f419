"""Missions on a repository whose tests want packages that cannot be built in the sandbox."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.clock import SystemClock
from bot.domain.mission import MissionContext, Outcome
from bot.domain.policy import RepositoryPolicy
from bot.fixers.rung1_search.engine import SearchFixer
from bot.mission.loop import MissionPorts, run_mission
from bot.publish.progress import SilentProgress
from bot.publish.report import mission_report
from bot.publish.story import Story
from bot.queue.memory import MemoryCheckpoint
from sandbox.backends.docker_container import DockerBackend
from sandbox.backends.docker_hardening import connect
from sandbox.spec import SandboxSpec
from sandbox.types import Checkout, GitSource, JobHints
from sandbox.workspace import Sandboxes
from tests.builders import a_request
from tests.fakes.scripted_fixer import KnownLessons
from tests.integration.git_http import commit, serve_git
from tests.integration.package_index import download, sdist, serve, wheel, write_pages

pytestmark = [pytest.mark.anyio, pytest.mark.docker, pytest.mark.slow]

NEEDS_RUST = 'raise SystemExit("cargo, the Rust package manager, is not installed")\n'
PROJECT: dict[str, str | bytes | None] = {
    ".github/workflows/ci.yml": """on: push
jobs:
  check:
    runs-on: ubuntu-latest
    steps:
      - run: pip install -e . --group test
      - run: pytest
""",
    "pyproject.toml": """[project]
name = "halves"
version = "1"

[dependency-groups]
test = ["pytest", "carrier", "rsloop"]
""",
    "halves.py": "def half(number):\n    return number // 2\n",
    "test_halves.py": """from halves import half


def test_half():
    assert half(8) == 4


def test_half_of_zero():
    assert half(0) == 0


def test_half_of_more():
    assert half(10) == 5
""",
    "test_loop.py": """import pytest


def test_loop():
    pytest.importorskip("rsloop")
""",
}
BROKEN: dict[str, str | bytes | None] = {"halves.py": "def half(number):\n    return number // 3\n"}


@pytest.fixture(scope="module")
def index(docker_ready: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An index with two source distributions that need Rust, one of them through a wheel."""
    root = tmp_path_factory.mktemp("index")
    files = root / "files"
    download(files, "setuptools", "wheel", "pytest", "ruff")
    for name in ("rsloop", "rusty"):
        info = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"
        sdist(files, name, "1.0", {"PKG-INFO": info, "setup.py": NEEDS_RUST})
    wheel(files, "carrier", "1.0", {"carrier.py": ""}, "rusty")
    write_pages(root)
    with serve(root) as url:
        yield f"{url}/simple"


class Field:
    """A served repository, and missions on its commits."""

    def __init__(self, folder: Path, url: str, sandboxes: Sandboxes) -> None:
        self.folder = folder
        self._url = url
        self._sandboxes = sandboxes

    async def mission(self, head: str, base: str) -> MissionContext:
        """Run a mission on a commit."""
        lessons = KnownLessons()
        ports = MissionPorts(
            open_workspace=self._sandboxes.open_workspace,
            fixers=(SearchFixer(lessons),),
            recall=lessons,
            checkpoint=MemoryCheckpoint(through_json=True),
            progress=SilentProgress(),
            clock=SystemClock(),
        )
        source = GitSource(url=self._url, sha=head, base_sha=base, repository_id="42")
        hints = JobHints(job_name="check", step_name="Run pytest")
        checkout = Checkout(source=source, hints=hints)
        return await run_mission(a_request(head_sha=head), RepositoryPolicy(), checkout, ports)


async def test_tests_run_without_packages_that_cannot_be_built_and_the_report_names_them(
    index: str, tmp_path: Path
) -> None:
    spec = SandboxSpec(pool=0, index_url=index)
    sandboxes = Sandboxes(spec, DockerBackend(spec), tmp_path / "data")
    (tmp_path / "served").mkdir()
    with serve_git(tmp_path / "served") as server:
        field = Field(server.root / "r", f"{server.url}/r/.git", sandboxes)
        base = commit(field.folder, PROJECT, "green")
        head = commit(field.folder, BROKEN, "red")
        fixed = await field.mission(head, base)
        needing = {"halves.py": "import rsloop\n"}
        wants = await field.mission(commit(field.folder, {**needing}, "wants it"), base)
    await sandboxes.close()

    assert fixed.outcome is Outcome.FIXED, fixed.reason
    assert fixed.facts is not None
    client = connect()
    client.images.remove(fixed.facts.image, force=True)
    client.close()
    assert sorted(fixed.facts.recipe.python.left_out) == ["carrier", "rsloop"]
    report = mission_report(Story(context=fixed, outcome=Outcome.FIXED))
    for name, culprit in (("carrier", "rusty"), ("rsloop", "rsloop")):
        line = next(line for line in report.splitlines() if f"install {name}" in line)
        assert "left out, so that tests that need it skip or fail" in line
        assert f"could not install {culprit}: it could not be built from source" in line

    assert wants.outcome is Outcome.ENV_UNBUILDABLE, wants.reason
    assert "`rsloop`" in wants.reason
    assert "could not be installed here" in wants.reason
