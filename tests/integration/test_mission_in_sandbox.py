"""Missions on real parts: a real sandbox, real git, real pytest, the real ladder."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.clock import SystemClock
from bot.domain.mission import MissionContext, Outcome
from bot.domain.policy import RepositoryPolicy
from bot.fixers.rung0_tools import tool_fixers
from bot.fixers.rung1_search.engine import SearchFixer
from bot.mission.loop import MissionPorts, run_mission
from bot.publish.progress import SilentProgress
from bot.queue.memory import MemoryCheckpoint
from sandbox.backends.docker_container import DockerBackend
from sandbox.spec import SandboxSpec
from sandbox.types import Checkout, GitSource, JobHints
from sandbox.workspace import Sandboxes
from tests.builders import a_request
from tests.demo.repositories import broken_repositories, broken_repository
from tests.fakes.scripted_fixer import KnownLessons
from tests.integration.git_http import GitServer, commit, git, serve_git

pytestmark = [pytest.mark.anyio, pytest.mark.docker, pytest.mark.slow]

NAMES = [broken.name for broken in broken_repositories()]


class Field:
    """A served repository, and missions on its newest commit."""

    def __init__(self, server: GitServer, backend: DockerBackend, data: Path) -> None:
        self.folder = server.root / "r"
        self._url = f"{server.url}/r/.git"
        self._sandboxes = Sandboxes(SandboxSpec(), backend, data)

    async def mission(
        self,
        head: str,
        base: str | None = None,
        *,
        command: str | None = None,
        hints: JobHints | None = None,
    ) -> MissionContext:
        """Run one mission on a commit, every value through JSON as a durable engine would."""
        lessons = KnownLessons()
        ports = MissionPorts(
            open_workspace=self._sandboxes.open_workspace,
            fixers=(*tool_fixers(), SearchFixer(lessons)),
            recall=lessons,
            checkpoint=MemoryCheckpoint(through_json=True),
            progress=SilentProgress(),
            clock=SystemClock(),
        )
        source = GitSource(url=self._url, sha=head, base_sha=base, repository_id="42")
        checkout = Checkout(source=source, hints=hints or JobHints(command=command))
        return await run_mission(a_request(head_sha=head), RepositoryPolicy(), checkout, ports)


@pytest.fixture(scope="module")
def backend(docker_ready: None) -> DockerBackend:
    return DockerBackend(SandboxSpec(pool=0))


@pytest.fixture
def field(backend: DockerBackend, tmp_path: Path) -> Iterator[Field]:
    (tmp_path / "served").mkdir()
    with serve_git(tmp_path / "served") as server:
        yield Field(server, backend, tmp_path / "data")


@pytest.mark.parametrize("name", NAMES)
async def test_a_broken_repository_ends_as_it_must(field: Field, name: str) -> None:
    broken = broken_repository(name)
    base = commit(field.folder, dict(broken.green), "green")
    head = commit(field.folder, dict(broken.red), "red")
    context = await field.mission(head, base)
    assert context.outcome is not None
    assert context.outcome.value == broken.expected["outcome"], context.reason
    assert context.triage is not None
    if context.outcome is not Outcome.FIXED:
        return
    assert context.triage.base_checked
    assert context.triage.base_failing == ()
    assert context.fix is not None
    candidate, verification = context.fix
    assert int(candidate.rung) == broken.expected["rung"]
    if "file" in broken.expected:
        assert [edit.path for edit in verification.edits] == [broken.expected["file"]]
    if "after" in broken.expected:
        after = verification.runs[-2].report
        assert (len(after.failing), len(after.passing)) == (0, broken.expected["after"]["passed"])
    patch = field.folder.parent / "fix.patch"
    patch.write_text(verification.diff)
    git(field.folder, "apply", str(patch))
    for edit in verification.edits:
        assert (field.folder / edit.path).read_bytes() == edit.content


async def test_what_was_red_before_is_base_red(field: Field) -> None:
    broken = broken_repository("broken_math")
    base = commit(field.folder, {**broken.green, **broken.red}, "red")
    head = commit(field.folder, {"README.md": "innocent\n"}, "a word")
    context = await field.mission(head, base)
    assert context.outcome is Outcome.BASE_RED, context.reason
    assert not context.iterations


async def test_a_green_commit_is_not_reproduced(field: Field) -> None:
    base = commit(field.folder, dict(broken_repository("broken_math").green), "green")
    head = commit(field.folder, {"README.md": "innocent\n"}, "a word")
    context = await field.mission(head, base)
    assert context.outcome is Outcome.NOT_REPRODUCED, context.reason


@pytest.mark.parametrize(
    ("files", "command", "words"),
    [
        ({"m.py": "x = 1\n"}, "python -m pytest", "collected no test"),
        ({"m.py": "x = 1\n"}, "frobnicate --all", "frobnicate"),
        (
            {"test_m.py": "import frobnicator\n\n\ndef test_m():\n    pass\n"},
            "python -m pytest",
            "frobnicator",
        ),
    ],
)
async def test_what_cannot_be_rebuilt_says_why(
    field: Field, files: dict[str, str | bytes | None], command: str, words: str
) -> None:
    head = commit(field.folder, files)
    context = await field.mission(head, command=command)
    assert context.outcome is Outcome.ENV_UNBUILDABLE, context.reason
    assert words in context.reason


WITH_NODE = """on: push
jobs:
  check:
    runs-on: ubuntu-latest
    steps:
      - run: npm ci
      - run: python -m pytest
"""
UNLOCKED: dict[str, str | bytes | None] = {
    ".github/workflows/ci.yml": WITH_NODE,
    "package.json": '{"name": "web", "dependencies": {"left-pad": "1.3.0"}}',
    "package-lock.json": '{"name": "web", "lockfileVersion": 3, "packages": {"": {}}}',
}
"""A job that installs Node.js packages first, with a lock file that `npm ci` refuses."""
CALLS_NODE = """import subprocess


def test_page():
    subprocess.run(["node", "page.js"], check=True)
"""


async def test_a_python_bug_is_fixed_without_node_packages_that_cannot_be_installed(
    field: Field,
) -> None:
    broken = broken_repository("broken_math")
    base = commit(field.folder, {**broken.green, **UNLOCKED}, "green")
    head = commit(field.folder, dict(broken.red), "red")
    hints = JobHints(job_name="check", step_name="Run python -m pytest")
    context = await field.mission(head, base, hints=hints)
    assert context.outcome is Outcome.FIXED, context.reason
    assert context.fix is not None
    told = context.fix[1].not_verified
    assert any("Node.js packages are missing" in text for text in told), told


async def test_a_test_that_needs_the_missing_node_packages_is_not_called_a_bug(
    field: Field,
) -> None:
    files: dict[str, str | bytes | None] = {
        **UNLOCKED,
        "requirements.txt": "pytest\n",
        "test_page.py": CALLS_NODE,
    }
    head = commit(field.folder, files, "red")
    hints = JobHints(job_name="check", step_name="Run python -m pytest")
    context = await field.mission(head, hints=hints)
    assert context.outcome is Outcome.ENV_UNBUILDABLE, context.reason
    assert "Node.js packages are missing" in context.reason
