"""A mission on a red commit after a green one, from a git server to its end, in a real sandbox."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from bot.clock import SystemClock
from bot.domain.mission import MissionContext
from bot.domain.policy import RepositoryPolicy
from bot.mission.loop import MissionPorts, run_mission
from bot.ports.sandboxes import Fixer
from bot.publish.progress import SilentProgress
from bot.queue.memory import MemoryCheckpoint
from sandbox.backends.docker_container import DockerBackend
from sandbox.spec import SandboxSpec
from sandbox.types import Checkout, GitSource, JobHints
from sandbox.workspace import Sandboxes
from tests.builders import a_request
from tests.fakes.scripted_fixer import KnownLessons
from tests.integration.git_http import commit, serve_git

Files = Mapping[str, str | bytes | None]


async def run_on_red_commit(
    docker: DockerBackend,
    folder: Path,
    commits: tuple[Files, Files],
    hints: JobHints,
    fixers: Iterable[Fixer],
    policy: RepositoryPolicy | None = None,
) -> MissionContext:
    """Return the end of the mission.

    Args:
        docker: Where it runs.
        folder: An empty folder for the repository and the sandbox's data.
        commits: The files of the green commit, and those that the red one adds or changes.
        hints: The command or job that is red.
        fixers: The rungs of the ladder.
        policy: The repository's; the usual one without it.
    """
    (folder / "served").mkdir()
    sandboxes = Sandboxes(SandboxSpec(), docker, folder / "data")
    with serve_git(folder / "served") as server:
        base, head = (
            commit(server.root / "r", dict(files), name)
            for files, name in zip(commits, ("green", "red"), strict=True)
        )
        ports = MissionPorts(
            open_workspace=sandboxes.open_workspace,
            fixers=tuple(fixers),
            recall=KnownLessons(),
            checkpoint=MemoryCheckpoint(through_json=True),
            progress=SilentProgress(),
            clock=SystemClock(),
        )
        url = f"{server.url}/r/.git"
        source = GitSource(url=url, sha=head, base_sha=base, repository_id="42")
        checkout = Checkout(source=source, hints=hints)
        return await run_mission(
            a_request(head_sha=head), policy or RepositoryPolicy(), checkout, ports
        )
